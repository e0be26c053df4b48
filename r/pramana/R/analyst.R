pm_load <- function(folder) {
  calling(wrapped(module("pramana")$load(path.expand(folder)), "pm_release"))
}

pm_verify <- function(release) {
  stopifnot(inherits(release, "pm_release"))
  calling({
    verdict <- release$python$verify()
    wrapped(verdict, "pm_verdict", valid = py_to_r(verdict$valid))
  })
}

pm_records <- function(release) {
  stopifnot(inherits(release, "pm_release"))
  calling({
    records <- from_arrow(module("pyarrow")$Table$from_batches(module("builtins")$list(
      release$python$batches()
    )))
    described(records, release$descriptions)
  })
}


pm_table <- function(release, by, where = NULL, share = FALSE, level = 0.95) {
  stopifnot(inherits(release, "pm_release"))
  calling(from_arrow(do.call(
    release$python$crosstab,
    c(as_names(by), list(where = where, share = share, level = level))
  )$to_arrow()))
}

pm_mean <- function(release, of, by = character(), where = NULL, level = 0.95) {
  stopifnot(inherits(release, "pm_release"))
  calling(from_arrow(
    release$python$mean(of, by = as_names(by), where = where, level = level)$to_arrow()
  ))
}

pm_regress <- function(release, formula, family = NULL, level = 0.95) {
  stopifnot(inherits(release, "pm_release"))
  text <- if (inherits(formula, "formula")) paste(deparse(formula), collapse = " ") else formula
  arguments <- list(text, level = level)
  if (!is.null(family)) arguments$family <- family
  calling(from_arrow(do.call(release$python$regress, arguments)$to_arrow()))
}
