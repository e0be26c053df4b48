pm_describe <- function(data, keys = character(), sensitive = character(), public = character(),
                        identifiers = character(), weight = NULL, household = NULL, k = 5) {
  calling({
    schema <- module("pramana")$describe(
      to_arrow(data), keys = as_names(keys), sensitive = as_names(sensitive),
      public = as_names(public), identifiers = as_names(identifiers), weight = weight,
      household = household, k = as.numeric(k)
    )
    wrapped(schema, "pm_schema")
  })
}

pm_schema <- function(file) {
  calling(wrapped(module("pramana")$Schema$load(path.expand(file)), "pm_schema"))
}

pm_design <- function(schema, data = NULL, records = NULL, k = NULL, epsilon = NULL,
                      central_epsilon = NULL, delta = NULL, alpha = NULL, width = NULL, xi = NULL,
                      rho1 = NULL, rho2 = NULL, method = NULL) {
  stopifnot(inherits(schema, "pm_schema"))
  given <- list(k = k, epsilon = epsilon, central_epsilon = central_epsilon, delta = delta,
                alpha = alpha, width = width, xi = xi, rho1 = rho1, rho2 = rho2)
  given <- lapply(Filter(Negate(is.null), given), as.numeric)
  calling({
    options <- module("pramana.api")$guarantees_from_options(given)
    targets <- lapply(seq_len(length(options)), function(i) options[[i - 1L]])
    arguments <- c(list(schema$python), targets)
    if (!is.null(data)) arguments$data <- to_arrow(data)
    if (!is.null(records)) arguments$records <- as.integer(records)
    if (!is.null(method)) arguments$method <- method
    wrapped(do.call(module("pramana")$design, arguments), "pm_plan")
  })
}

pm_protect <- function(data, plan, to = NULL, accept_risk = character(), seed = NULL) {
  stopifnot(inherits(plan, "pm_plan"))
  arguments <- list(to_arrow(data), plan$python, accept_risk = as_names(accept_risk))
  if (!is.null(to)) arguments$to <- path.expand(to)
  if (!is.null(to)) arguments$file_format <- "parquet"
  if (!is.null(seed)) arguments$seed <- as.integer(seed)
  calling({
    release <- do.call(module("pramana")$protect, arguments)
    wrapped(release, "pm_release", descriptions = descriptions(data))
  })
}

pm_save <- function(release, folder, format = "parquet", force = FALSE) {
  stopifnot(inherits(release, "pm_release"))
  calling(release$python$save(path.expand(folder), file_format = format, force = force))
  invisible(folder)
}

pm_audit <- function(x, original = NULL, keys = NULL, k = 2) {
  subject <- if (inherits(x, "pm_release")) x$python else to_arrow(x)
  arguments <- list(subject, k = as.numeric(k))
  if (!is.null(keys)) arguments$keys <- as_names(keys)
  if (!is.null(original)) arguments$original <- to_arrow(original)
  calling(wrapped(do.call(module("pramana")$audit, arguments), "pm_audit"))
}

pm_report <- function(release, file, original = NULL, external = is.null(original), force = FALSE) {
  stopifnot(inherits(release, "pm_release"))
  calling({
    table <- if (is.null(original)) NULL else to_arrow(original)
    report <- module("pramana")$report(release$python, original = table, external = external)
    report$save(path.expand(file), force = force)
  })
  invisible(file)
}
