# Data frames of R and tables of Arrow, column by column, with missing values, levels and labels.

python <- new.env(parent = emptyenv())

# A Python module, imported once.
module <- function(name) {
  if (is.null(python[[name]])) {
    python[[name]] <- import(name, convert = FALSE)
  }
  python[[name]]
}

# Labelled columns (package haven, or foreign's value labels) become factors: releases show labels.
with_levels <- function(column) {
  labels <- attr(column, "labels", exact = TRUE)
  if (is.null(labels)) {
    return(column)
  }
  codes <- unclass(column)
  values <- sort(unique(c(labels, codes[!is.na(codes)])))
  names <- as.character(values)
  names[match(labels, values)] <- names(labels)
  factor(names[match(codes, values)], levels = unique(names))
}

arrow_type <- function(column, pa) {
  if (is.logical(column)) pa$bool_()
  else if (inherits(column, "Date")) pa$date32()
  else if (is.integer(column)) pa$int64()
  else if (is.numeric(column)) pa$float64()
  else pa$string()
}

to_arrow <- function(data) {
  if (!is.data.frame(data) || nrow(data) == 0 || ncol(data) == 0) {
    stop("data must be a data frame with at least one record and one column.", call. = FALSE)
  }
  pa <- module("pyarrow")
  columns <- lapply(data, function(column) {
    column <- with_levels(column)
    if (inherits(column, "POSIXt")) {
      stop("Columns of times are not supported. Use as.Date().", call. = FALSE)
    }
    type <- arrow_type(column, pa)
    missing <- is.na(column)
    if (is.factor(column)) column <- as.character(column)
    if (inherits(column, "Date")) column <- as.integer(column)
    column[missing] <- if (is.character(column)) "" else 0L
    plain <- as.vector(column)
    stored <- pa$array(as.list(plain))
    if (inherits(type, "pyarrow.lib.DataType") && is.integer(plain)) {
      stored <- stored$cast(pa$int32())
    }
    kept <- pa$array(as.list(!missing))
    module("pyarrow.compute")$if_else(kept, stored$cast(type), pa$scalar(NULL, type))
  })
  names(columns) <- names(data)
  pa$table(columns)
}

from_arrow <- function(table) {
  names <- as.character(py_to_r(table$column_names))
  compute <- module("pyarrow.compute")
  pa <- module("pyarrow")
  columns <- lapply(names, function(name) {
    column <- table$column(name)$combine_chunks()
    if (py_to_r(pa$types$is_dictionary(column$type))) {
      column <- column$cast(column$type$value_type)
    }
    date <- py_to_r(pa$types$is_date(column$type))
    if (date) column <- column$cast(pa$date32())$cast(pa$int32())
    if (py_to_r(pa$types$is_decimal(column$type))) column <- column$cast(pa$float64())
    missing <- as.logical(unlist(py_to_r(compute$is_null(column)$to_pylist())))
    if (all(missing)) {
      return(rep(NA, length(missing)))
    }
    values <- unlist(py_to_r(compute$drop_null(column)$to_pylist()))
    filled <- rep(values[NA_integer_], length(missing))
    filled[!missing] <- values
    if (date) as.Date(filled, origin = "1970-01-01") else filled
  })
  names(columns) <- names
  as.data.frame(columns, check.names = FALSE, stringsAsFactors = FALSE)
}

# Levels and variable labels of each column, to be put back on released columns.
descriptions <- function(data) {
  lapply(data, function(column) {
    factor <- with_levels(column)
    list(levels = levels(factor), ordered = is.ordered(factor), label = attr(column, "label", exact = TRUE))
  })
}

described <- function(released, descriptions) {
  for (name in intersect(names(released), names(descriptions))) {
    kept <- descriptions[[name]]
    if (!is.null(kept$levels)) {
      values <- as.character(released[[name]])
      levels <- union(kept$levels, values[!is.na(values)])
      released[[name]] <- factor(values, levels = levels, ordered = kept$ordered)
    }
    attr(released[[name]], "label") <- kept$label
  }
  released
}

# Python errors of pramana as one-line R errors.
calling <- function(expression) {
  tryCatch(expression, error = function(error) {
    text <- conditionMessage(error)
    text <- sub("^[A-Za-z.]+: ", "", strsplit(text, "\n", fixed = TRUE)[[1]][1])
    stop(text, call. = FALSE)
  })
}

# Several names must stay a list where there is one.
as_names <- function(names) as.list(as.character(names))

wrapped <- function(object, class, ...) {
  structure(list(python = object, ...), class = c(class, "pm_object"))
}

print.pm_object <- function(x, ...) {
  cat(py_str(x$python), "\n", sep = "")
  invisible(x)
}
