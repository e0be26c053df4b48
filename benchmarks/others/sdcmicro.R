# The same work by sdcMicro: Rscript sdcmicro.R pram VALUES.csv
#                           Rscript sdcmicro.R microaggregation POINTS.csv K
#
# Prints the seconds, and for groups the within-group sum of squares. Leaves with status 3 where
# sdcMicro is not installed.
if (!requireNamespace("sdcMicro", quietly = TRUE)) quit(status = 3)

given <- commandArgs(trailingOnly = TRUE)
if (given[1] == "pram") {
  values <- read.csv(given[2], colClasses = "factor")
  seconds <- system.time(
    invisible(sdcMicro::pram(values, variables = names(values), pd = 0.3, alpha = 1))
  )[["elapsed"]]
  cat(seconds, "\n")
} else {
  points <- read.csv(given[2])
  seconds <- system.time(
    made <- sdcMicro::microaggregation(points, variables = names(points),
                                       aggr = as.integer(given[3]), method = "mdav")
  )[["elapsed"]]
  cat(seconds, sum((as.matrix(points) - as.matrix(made$mx))^2), "\n")
}
