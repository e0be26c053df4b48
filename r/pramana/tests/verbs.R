# The path of a steward and of an analyst, with the real Python package.
if (!reticulate::py_module_available("pramana")) {
  message("The Python package pramana is not there: nothing is tested.")
  quit(status = 0)
}
library(pramana)

set.seed(7)
n <- 3000
people <- data.frame(
  sex = factor(sample(c("female", "male"), n, TRUE), levels = c("male", "female")),
  region = sample(c(1, 2, 3), n, TRUE),
  smokes = sample(c("yes", "no", NA), n, TRUE, prob = c(.3, .65, .05)),
  income = round(exp(rnorm(n, 7, .4)), -1),
  stringsAsFactors = FALSE
)
# As package haven keeps labels.
attr(people$region, "labels") <- c(North = 1, South = 2, Islands = 3)
attr(people$region, "label") <- "Region of residence"

# Values survive the way to Arrow and back, missing ones too.
back <- pramana:::from_arrow(pramana:::to_arrow(people))
stopifnot(identical(back$smokes, people$smokes), identical(back$income, people$income))
stopifnot(identical(back$region, as.character(pramana:::with_levels(people$region))))
days <- data.frame(day = as.Date(c("2020-02-29", NA)), many = c(1L, NA), ever = c(TRUE, NA))
stopifnot(identical(pramana:::from_arrow(pramana:::to_arrow(days)), days))

schema <- pm_describe(people, keys = c("sex", "region", "smokes"), sensitive = "income")
stopifnot(grepl("region", capture.output(print(schema))[2]))
plan <- pm_design(schema, people, k = 5, method = "retention")
folder <- file.path(tempfile("release"))
release <- pm_protect(people, plan, to = folder, seed = 1, accept_risk = "income")

released <- pm_records(release)
stopifnot(nrow(released) == n, is.factor(released$sex), is.factor(released$region))
stopifnot(identical(levels(released$region), c("North", "South", "Islands")))
stopifnot(identical(attr(released$region, "label"), "Region of residence"))

# An analyst opens the folder; estimates have intervals and agree with the original.
opened <- pm_load(folder)
stopifnot(isTRUE(pm_verify(opened)$valid))
cells <- pm_table(opened, c("sex", "region"))
original <- as.data.frame(table(sex = people$sex, region = pramana:::with_levels(people$region)))
both <- merge(cells, original)
stopifnot(nrow(both) == 6, all(abs(both$estimate - both$Freq) < 5 * both$se))
means <- pm_mean(opened, "income", by = "sex")
stopifnot(nrow(means) == 2, all(means$low < means$high))
model <- pm_regress(opened, income ~ sex + region)
stopifnot(nrow(model) == 4)

audit <- pm_audit(people, keys = c("sex", "region"))
stopifnot(inherits(audit, "pm_audit"), length(capture.output(print(audit))) >= 2)
page <- tempfile(fileext = ".html")
pm_report(opened, page)
stopifnot(file.exists(page))

# Errors of pramana are one line, without a traceback.
wrong <- tryCatch(pm_design(schema, people, k = 1e9), error = conditionMessage)
stopifnot(length(wrong) == 1, !grepl("\n|Traceback", wrong), nchar(wrong) > 20)
stopifnot(inherits(try(pm_describe(people[0, ]), silent = TRUE), "try-error"))
