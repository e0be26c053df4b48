# Unbiased estimates from this release in R, as of `pramana estimate --method unbiased`.
#
#   source("analyse.R")
#   records <- pm_load()                                # the released records, with labels
#   pm_verify()                                         # the data file and the guarantees
#   pm_table(records, c("age", "sex"))                  # people, with standard errors
#   pm_table(records, "region", share = TRUE)           # shares
#   pm_mean(records, "income", by = "education")        # means of a number
#   pm_lm(records, income ~ sex + age)                  # least squares
#   pm_glm(records, smokes ~ sex, family = "binomial")  # or "poisson"
#
# Base R is enough; a Parquet file also needs the package 'arrow' or 'nanoparquet'. Where weights
# were rounded before the release, errors do not include it; `pramana estimate` does.
# Estimates are unbiased. Intervals hold for the people in the table; of models, for the population behind it.

pm_load <- function(folder = ".") {
  place <- new.env()
  before <- setwd(folder)
  on.exit(setwd(before))
  sys.source("load.R", envir = place)
  place$records
}

pm_verify <- function(folder = ".") {
  found <- character()
  for (file in pm$files) {
    path <- file.path(folder, file$name)
    if (!file.exists(path)) next
    if (!requireNamespace("digest", quietly = TRUE)) {
      found <- c(found, paste0("not checked: the digest of ", file$name, " needs the package 'digest'"))
    } else {
      same <- digest::digest(path, algo = "sha256", file = TRUE) == file$sha256
      found <- c(found, paste0(if (same) "passed: " else "FAILED: ", file$name, " has the digest of the certificate"))
    }
  }
  if (length(pm$guarantee$mixtures)) {
    gammas <- vapply(pm$guarantee$mixtures, function(one) {
      share <- as.numeric(one$other) / 2^64
      (1 - (one$size - 1) * share) / share
    }, 0)
    gamma <- if (is.null(pm$sets)) prod(gammas) else max(gammas)
    if (!is.null(pm$guarantee$k)) {
      holds <- 1 + (pm$guarantee$people - 1) / gamma^2 >= pm$guarantee$k * (1 - 1e-9)
      found <- c(found, paste0(if (holds) "passed: " else "FAILED: ", "k = ", pm$guarantee$k))
    }
    if (!is.null(pm$guarantee$epsilon)) {
      holds <- log(gamma) <= pm$guarantee$epsilon * (1 + 1e-9)
      found <- c(found, paste0(if (holds) "passed: " else "FAILED: ", "epsilon = ", pm$guarantee$epsilon))
    }
  }
  cat(found, sep = "\n")
  invisible(!any(startsWith(found, "FAILED")))
}

pm_table <- function(records, by, share = FALSE, level = 0.95) {
  z <- qnorm((1 + level) / 2)
  sampled <- !is.null(pm$sets) && any(vapply(by, function(name) pm_column(name)$randomised, NA))
  found <- if (sampled) pm_sampled_counts(records, by, z, share) else pm_whole_counts(records, by, z, share)
  found$low <- pmin(found$low, found$estimate) # an unbiased count may be negative: the interval takes it in
  found$high <- pmax(found$high, found$estimate)
  found
}

pm_mean <- function(records, of, by, level = 0.95) {
  if (!pm_column(of)$numeric || !is.numeric(records[[of]])) {
    stop("'", of, "' is randomised, or holds no numbers: ask for its table with pm_table.", call. = FALSE)
  }
  z <- qnorm((1 + level) / 2)
  sampled <- !is.null(pm$sets) && any(vapply(by, function(name) pm_column(name)$randomised, NA))
  if (sampled) pm_sampled_means(records, of, by, z) else pm_whole_means(records, of, by, z)
}

# -- columns -----------------------------------------------------------------------------------

pm_column <- function(name) {
  for (column in pm$columns) if (column$name == name) return(column)
  stop("The release has no column '", name, "'.", call. = FALSE)
}

# The code of each record's value, from 0, and the labels.
pm_coded <- function(records, name) {
  column <- pm_column(name)
  values <- records[[name]]
  if (is.null(column$labels)) {
    labels <- sort(unique(values[!is.na(values)]))
    codes <- match(values, labels) - 1L
    labels <- as.character(labels)
    if (anyNA(values)) {
      codes[is.na(values)] <- length(labels)
      labels <- c(labels, "missing")
    }
  } else if (!is.null(column$edges)) {
    labels <- column$labels
    codes <- findInterval(values, column$edges, rightmost.closed = TRUE) - 1L
    apart <- match(values, column$apart)
    codes[!is.na(apart)] <- length(column$edges) - 2L + apart[!is.na(apart)]
    codes[is.na(values)] <- length(labels) - 1L
  } else {
    labels <- column$labels
    codes <- if (is.factor(values)) as.integer(values) - 1L else match(values, column$values) - 1L
    gone <- which(is.na(column$values))
    if (length(gone)) codes[is.na(values)] <- gone - 1L
  }
  list(codes = codes, labels = labels, size = length(labels))
}

pm_weights <- function(records) {
  if (is.null(pm$weight)) rep(1, nrow(records)) else as.numeric(records[[pm$weight]])
}

# One row a cell of the columns asked for, the first column changing slowest.
pm_rows <- function(labels, cells) {
  sizes <- lengths(labels)
  codes <- arrayInd(seq_len(prod(sizes)), rev(sizes))
  found <- data.frame(lapply(rev(seq_along(labels)), function(at) labels[[length(labels) + 1 - at]][codes[, at]]))
  names(found) <- names(labels)
  cbind(found, cells)
}

# -- intervals ---------------------------------------------------------------------------------

pm_acceptance <- function(z) {
  truth <- exp(seq(log(1e-3), log(z), length.out = 400))
  truth[400] <- z
  other <- function(least) sqrt(pmax(truth^2 - 2 * least * truth, 0))
  low <- rep(-1e3 * (1 + z^2), 400)
  high <- rep(0, 400)
  for (n in 1:80) {
    middle <- (low + high) / 2
    near <- pnorm(-other(middle)) + pnorm(middle - truth) > 2 * pnorm(-z)
    low <- ifelse(near, low, middle)
    high <- ifelse(near, middle, high)
  }
  least <- (low + high) / 2
  list(truth = truth, least = least, most = truth + other(least))
}

# The interval of numbers that cannot be negative (Feldman and Cousins).
pm_bounded <- function(estimate, se, z) {
  table <- pm_acceptance(z)
  at <- ifelse(se > 0, estimate / se, Inf)
  inside <- function(x, from, left) {
    found <- approx(from, table$truth, x, rule = 2)$y
    ifelse(x < from[1], left, found)
  }
  finite <- ifelse(is.finite(at), at, 0)
  low <- ifelse(at >= 2 * z, at - z, inside(finite, table$most, 0))
  high <- ifelse(at >= 0, at + z, inside(finite, table$least, table$truth[1]))
  list(low = ifelse(se > 0, low * se, estimate), high = ifelse(se > 0, high * se, estimate))
}

pm_half <- function(se, step) ifelse(se > 0 & se < 3 * step, step / 2, 0)

pm_few <- function(variance, more, step) variance < (3 * step)^2 * more * (1 + more) & more > 1e-9

pm_unseen <- function(variance, more, step, z) {
  middle <- z^2 * more * step / 2
  off <- middle + sqrt(middle^2 + z^2 * pmax(variance, more * step^2)) + step / 2
  ifelse(pm_few(variance, more, step), off, -Inf)
}

pm_nearer <- function(variance, strangers, step, least, z) {
  less <- pmax(-strangers, 0)
  middle <- z^2 * less * step / 2
  off <- pmax(sqrt(middle^2 + z^2 * variance) - middle, z * sqrt(least)) + (1 + less) * step / 2
  ifelse(pm_few(variance, less, step), off, Inf)
}

# A ratio with its standard error and Fieller's interval.
pm_ratio <- function(above, below, v_above, cov, v_below, z) {
  value <- ifelse(below > 0, above / below, NaN)
  se <- sqrt(pmax(v_above - 2 * value * cov + value^2 * v_below, 0)) / below
  away <- ifelse(v_below > 0, below / sqrt(v_below), Inf)
  wide <- z + pmin(pmax((5 - away) / 2, 0), 1)
  a <- below^2 - wide^2 * v_below
  b <- above * below - wide^2 * cov
  c <- above^2 - wide^2 * v_above
  root <- sqrt(pmax(b^2 - a * c, 0))
  known <- !is.na(a) & a > 0 & below > 0 & away >= 3
  data.frame(estimate = ifelse(known, value, NaN), se = ifelse(known, se, NaN),
             low = ifelse(known, (b - root) / a, -Inf), high = ifelse(known, (b + root) / a, Inf),
             value = value)
}

# -- whole records: the matrices are undone ------------------------------------------------------

pm_axis <- function(records, columns, step, by) {
  coded <- lapply(columns, function(name) pm_coded(records, name))
  cells <- if (is.null(step)) matrix(seq_len(coded[[1]]$size) - 1, ncol = 1) else matrix(step$cells, ncol = length(columns))
  key <- function(codes) do.call(paste, c(codes, sep = "_"))
  place <- match(key(lapply(coded, `[[`, "codes")), key(as.data.frame(cells)))
  asked <- which(columns %in% by)
  parts <- key(as.data.frame(cells[, asked, drop = FALSE]))
  groups <- cells[!duplicated(parts), asked, drop = FALSE]
  member <- match(parts, unique(parts))
  merge <- outer(member, seq_len(nrow(groups)), "==") * 1
  axis <- list(columns = columns[asked], place = place, size = nrow(cells), groups = groups,
               merge = merge, randomised = !is.null(step), solve = merge)
  if (is.null(step)) return(axis)
  n <- nrow(cells)
  if (is.null(step$rows)) {
    other <- (1 - step$retention) / n
    matrix <- diag(step$retention, n) + other
    inverse <- (diag(n) - other) / step$retention
  } else {
    matrix <- step$rows
    inverse <- solve(matrix)
  }
  axis$solve <- inverse %*% merge
  expected <- matrix %*% axis$solve^2
  axis$most <- apply(ifelse(merge > 0, expected, -Inf), 2, max)
  axis$least <- apply(ifelse(merge > 0, expected, Inf), 2, min)
  axis$other <- apply(ifelse(merge > 0, -Inf, expected), 2, max)
  axis$fewest <- apply(ifelse(merge > 0, Inf, expected), 2, min)
  axis
}

pm_axes <- function(records, by) {
  axes <- list()
  done <- character()
  for (name in by) {
    if (name %in% done) next
    step <- Find(function(one) name %in% one$columns, pm$steps)
    columns <- if (is.null(step)) name else step$columns
    axes <- c(axes, list(pm_axis(records, columns, step, by)))
    done <- c(done, columns)
  }
  axes
}

pm_sums <- function(axes, terms, keep) {
  sizes <- vapply(axes, `[[`, 0, "size")
  cell <- rep(0, length(keep))
  for (axis in axes) cell <- cell * axis$size + axis$place - 1
  keep <- keep & !is.na(cell)
  cells <- factor(cell[keep] + 1, levels = seq_len(prod(sizes)))
  lapply(terms, function(term) {
    found <- tapply(term[keep], cells, sum)
    found[is.na(found)] <- 0
    aperm(array(as.vector(found), rev(sizes)))
  })
}

pm_along <- function(table, place, matrix) {
  sizes <- dim(table)
  order <- c(place, setdiff(seq_along(sizes), place))
  moved <- matrix(aperm(table, order), nrow = sizes[place])
  product <- crossprod(matrix, moved)
  aperm(array(product, c(ncol(matrix), sizes[-place])), order(order))
}

pm_undo <- function(axes, table, change = identity) {
  for (at in seq_along(axes)) table <- pm_along(table, at, change(axes[[at]]$solve))
  table
}

pm_known <- function(axes, table) {
  for (at in seq_along(axes)) {
    axis <- axes[[at]]
    ones <- matrix(1, nrow = axis$size, ncol = nrow(axis$groups))
    table <- pm_along(table, at, if (axis$randomised) ones else axis$solve)
  }
  table
}

pm_expected <- function(axes) {
  most <- least <- any_one <- 1
  outside <- 0
  sizes <- vapply(axes, function(axis) nrow(axis$groups), 0L)
  spread <- function(values, at) {
    aperm(array(values, c(sizes[at], sizes[-at])), order(c(at, setdiff(seq_along(sizes), at))))
  }
  one <- array(1, sizes)
  most <- least <- any_one <- one
  outside <- one * 0
  for (at in seq_along(axes)) {
    axis <- axes[[at]]
    if (!axis$randomised) next
    own <- lapply(axis[c("most", "least", "other", "fewest")], spread, at = at)
    outside <- pmax(outside * pmax(own$most, own$other), most * pmax(own$other, 0))
    most <- most * own$most
    least <- least * own$least
    any_one <- any_one * pmin(own$least, own$fewest)
  }
  list(most = most, least = least, outside = outside, any_one = any_one)
}

# Cells of groups laid out by the columns asked for; impossible combinations hold zero.
pm_lay_out <- function(records, axes, by, found) {
  labels <- lapply(by, function(name) pm_coded(records, name)$labels)
  names(labels) <- by
  sizes <- lengths(labels)
  places <- arrayInd(seq_len(nrow(found)), vapply(axes, function(axis) nrow(axis$groups), 0L))
  codes <- list()
  for (at in seq_along(axes)) for (k in seq_along(axes[[at]]$columns)) {
    codes[[axes[[at]]$columns[k]]] <- axes[[at]]$groups[places[, at], k]
  }
  cell <- rep(0, nrow(found))
  for (name in by) cell <- cell * sizes[[name]] + codes[[name]]
  cells <- data.frame(estimate = rep(0, prod(sizes)), se = 0, low = 0, high = 0)
  cells[cell + 1, ] <- found[, c("estimate", "se", "low", "high")]
  pm_rows(labels, cells)
}

pm_whole_counts <- function(records, by, z, share) {
  axes <- pm_axes(records, by)
  w <- pm_weights(records)
  sums <- pm_sums(axes, list(w = w, ww = w^2), rep(TRUE, nrow(records)))
  randomised <- any(vapply(axes, `[[`, NA, "randomised"))
  square <- function(matrix) matrix^2
  flat <- function(table) as.vector(table)
  estimate <- flat(pm_undo(axes, sums$w))
  people <- flat(pm_known(axes, sums$w))
  squares <- flat(pm_known(axes, sums$ww))
  expected <- lapply(pm_expected(axes), flat)
  each <- if (randomised) pmax(pmin(expected$least - 1, expected$any_one), 0) else 0 * estimate
  floor <- ifelse(is.finite(each), each, 0) * squares
  variance <- pmax(flat(pm_undo(axes, sums$ww, square)) - flat(pm_undo(axes, sums$ww)), floor)
  se <- sqrt(variance)
  step <- squares / ifelse(people > 0, people, 1)
  more <- if (randomised) pmax(expected$most - 1 - expected$any_one, 0) else 0 * estimate
  strangers <- if (randomised) expected$outside - (expected$least - 1) else 0 * estimate
  bounds <- pm_bounded(estimate, se, z)
  half <- pm_half(se, step)
  low <- pmax(bounds$low - half, estimate - pm_nearer(variance, strangers, step, floor, z))
  low <- pmax(pmin(low, estimate - pm_unseen(variance, pmax(strangers, 0), step, z)), 0)
  high <- pmax(bounds$high + half, estimate + pm_unseen(variance, more, step, z), low)
  of <- if (share) sum(sums$w) else 1
  found <- data.frame(estimate = estimate, se = se, low = pmin(low, people), high = pmin(high, people)) / of
  pm_lay_out(records, axes, by, found)
}

pm_whole_means <- function(records, of, by, z) {
  axes <- pm_axes(records, by)
  y <- as.numeric(records[[of]])
  keep <- !is.na(y)
  y[!keep] <- 0
  w <- pm_weights(records)
  terms <- list(n = rep(1, length(y)), w = w, ww = w^2, wy = w * y, wwy = w^2 * y, wwyy = w^2 * y^2)
  sums <- pm_sums(axes, terms, keep)
  flat <- function(name) as.vector(pm_undo(axes, sums[[name]]))
  variance <- function(name) as.vector(pm_undo(axes, sums[[name]], function(matrix) matrix^2)) - flat(name)
  known <- function(name) as.vector(pm_known(axes, sums[[name]]))
  found <- pm_ratio(flat("wy"), flat("w"), pmax(variance("wwyy"), 0), variance("wwy"), pmax(variance("ww"), 0), z)
  squares <- known("wwyy") - 2 * found$value * known("wwy") + found$value^2 * known("ww")
  step <- sqrt(pmax(squares, 0) / pmax(known("n"), 1)) / flat("w")
  half <- ifelse(is.na(found$se), 0, pm_half(found$se, step))
  found$low <- found$low - half
  found$high <- found$high + half
  pm_lay_out(records, axes, by, found)
}

# -- attribute sampling: every report that holds the columns, by its precision ---------------------

pm_reports <- function(records, by, terms, keep) {
  changed <- by[vapply(by, function(name) pm_column(name)$randomised, NA)]
  unchanged <- setdiff(by, changed)
  used <- Filter(function(set) all(changed %in% set$columns), pm$sets)
  if (!length(used)) {
    stop("No set of columns that was asked for holds ", paste(changed, collapse = " and "),
         " together. Choose fewer columns.", call. = FALSE)
  }
  coded <- lapply(c(unchanged, changed), function(name) pm_coded(records, name))
  names(coded) <- c(unchanged, changed)
  number <- function(names) {
    cell <- rep(0, nrow(records))
    for (name in names) cell <- cell * coded[[name]]$size + coded[[name]]$codes
    cell
  }
  size <- function(names) prod(vapply(coded[names], `[[`, 0L, "size"))
  groups <- size(unchanged)
  cells <- size(changed)
  group <- number(unchanged)
  place <- group * cells + number(changed)
  added <- function(term, at, size) {
    found <- tapply(term, factor(at + 1, levels = seq_len(size)), sum)
    found[is.na(found)] <- 0
    as.vector(found)
  }
  parts <- lapply(used, function(set) {
    rows <- keep & records$reported == set$name
    lapply(terms, function(term) matrix(added(term[rows], place[rows], groups * cells), nrow = cells))
  })
  bases <- lapply(used, function(set) {
    if (is.null(set$cells)) return(rep(1 / cells, cells))
    codes <- matrix(set$cells, ncol = length(set$columns))
    cell <- rep(0, nrow(codes))
    for (name in changed) cell <- cell * coded[[name]]$size + codes[, match(name, set$columns)]
    tabulate(cell + 1, cells) / nrow(codes)
  })
  list(unchanged = unchanged, changed = changed, coded = coded, used = used, parts = parts, bases = bases,
       cells = cells, everyone = added(rep(1, sum(keep)), group[keep], groups), whole = sum(terms$w[keep]))
}

# Unbiased totals of one function of the records, with variances: cells by groups.
pm_totals <- function(found, first, second) {
  people <- rep(found$everyone, each = found$cells)
  parts <- Map(function(set, own, base) {
    every <- lapply(own, function(term) matrix(colSums(term), nrow = found$cells, ncol = ncol(term), byrow = TRUE))
    p <- set$retention
    n <- pmax(every$n, 1)
    noise <- (1 - p) * base
    squares <- second(every)
    list(p = p, n = n, base = base, noise = noise, precision = every$n * p^2, squares = squares / n,
         first = (first(own) - noise * first(every)) / (p * n),
         second = (second(own) - noise * squares) / (p * n), step = sqrt(squares / n) / (p * n))
  }, found$used, found$parts, found$bases)
  whole <- Reduce(`+`, lapply(parts, `[[`, "precision"))
  mean <- function(name) Reduce(`+`, lapply(parts, function(part) part$precision / whole * part[[name]]))
  level <- mean("first")
  square <- pmax(mean("second"), level^2)
  cross <- mean("second")
  squares <- mean("squares")
  drawn <- Reduce(`+`, lapply(parts, function(part) {
    seen_second <- part$p * square + (1 - part$p) * part$base * squares
    seen_cross <- part$p * cross + part$noise * squares
    raw <- (seen_second - 2 * part$noise * seen_cross + part$noise^2 * squares) / part$p^2 - level^2
    (part$precision / whole)^2 * pmax(raw, 0) / part$n
  }))
  among <- pmax(square - level^2, 0)
  step <- do.call(pmax, lapply(parts, function(part) part$precision / whole * part$step))
  list(total = people * level, people = people^2 * pmax(drawn - among / people, 0), step = people * step)
}

pm_sampled_rows <- function(found, by, cells) {
  names <- c(found$unchanged, found$changed)
  sizes <- vapply(found$coded[names], `[[`, 0L, "size")
  codes <- arrayInd(seq_len(nrow(cells)), rev(sizes))[, rev(seq_along(names)), drop = FALSE] - 1
  place <- rep(0, nrow(cells))
  for (name in by) place <- place * sizes[[name]] + codes[, match(name, names)]
  cells[place + 1, ] <- cells
  pm_rows(lapply(found$coded[by], `[[`, "labels"), cells)
}

pm_sampled_counts <- function(records, by, z, share) {
  w <- pm_weights(records)
  found <- pm_reports(records, by, list(n = rep(1, length(w)), w = w, ww = w^2), rep(TRUE, length(w)))
  totals <- lapply(pm_totals(found, function(s) s$w, function(s) s$ww), as.vector)
  se <- sqrt(totals$people)
  half <- pm_half(se, totals$step)
  bounds <- pm_bounded(totals$total, se, z)
  limit <- if (is.null(pm$weight)) rep(found$everyone, each = found$cells) else Inf
  of <- if (share) found$whole else 1
  cells <- data.frame(estimate = totals$total, se = se, low = pmin(pmax(bounds$low - half, 0), limit),
                      high = pmin(bounds$high + half, limit)) / of
  pm_sampled_rows(found, by, cells)
}

pm_sampled_means <- function(records, of, by, z) {
  y <- as.numeric(records[[of]])
  keep <- !is.na(y)
  y[!keep] <- 0
  w <- pm_weights(records)
  terms <- list(n = rep(1, length(y)), w = w, ww = w^2, wy = w * y, wwy = w^2 * y, wwyy = w^2 * y^2)
  found <- pm_reports(records, by, terms, keep)
  counts <- lapply(pm_totals(found, function(s) s$w, function(s) s$ww), as.vector)
  totals <- lapply(pm_totals(found, function(s) s$wy, function(s) s$wwyy), as.vector)
  step <- sum(abs(totals$total), na.rm = TRUE) / found$whole
  if (step == 0) step <- 1
  moved <- lapply(pm_totals(found, function(s) s$wy - step * s$w,
                            function(s) s$wwyy - 2 * step * s$wwy + step^2 * s$ww), as.vector)
  cov <- (totals$people + step^2 * counts$people - moved$people) / (2 * step)
  cells <- pm_ratio(totals$total, counts$total, totals$people, cov, counts$people, z)
  pm_sampled_rows(found, by, cells[, c("estimate", "se", "low", "high")])
}

# -- models: corrected scores (Nakamura 1990) ------------------------------------------------------

pm_lm <- function(records, formula, level = 0.95) pm_glm(records, formula, "gaussian", level)

# Coefficients of the model that the original records would give. Categories and bins are factors, numbers are numbers;
# of a response with two categories the second is modelled. Records with missing values are left out.
pm_glm <- function(records, formula, family = c("binomial", "poisson", "gaussian"), level = 0.95) {
  family <- match.arg(family)
  if (!is.null(pm$sets)) {
    stop("Models of a release by attribute sampling need pramana: pramana regress.", call. = FALSE)
  }
  cells <- pm_model_cells(records, formula)
  link <- switch(family,
    gaussian = function(eta) list(mean = eta, rise = rep(1, length(eta))),
    binomial = function(eta) { mean <- plogis(eta); list(mean = mean, rise = mean * (1 - mean)) },
    poisson = function(eta) list(mean = exp(eta), rise = exp(eta))
  )
  beta <- rep(0, ncol(cells$x))
  if (family != "gaussian") {
    positive <- pmax(cells$weight, 0)
    beta <- pm_root(cells$x, positive, positive * pmax(cells$value / cells$weight, 0), link, beta)
  }
  beta <- pm_root(cells$x, cells$weight, cells$value, link, beta)
  at <- link(as.vector(cells$x %*% beta))
  slope <- crossprod(cells$x, cells$x * (cells$weight * at$rise))
  scores <- matrix(0, nrow(cells$undone), ncol(cells$x))
  information <- rep(0, nrow(scores))
  scale <- sqrt(abs(diag(slope)))
  values <- eigen(slope / outer(scale, scale), symmetric = TRUE)
  direction <- values$vectors[, ncol(slope)] / scale
  for (original in seq_len(ncol(cells$undone))) {
    row <- cells$kind + (original - 1) * cells$kinds
    weight <- cells$w * cells$undone[, original]
    scores <- scores + weight * (cells$y[, min(original, ncol(cells$y))] - at$mean[row]) * cells$x[row, , drop = FALSE]
    information <- information + weight * at$rise[row] * as.vector(cells$x[row, , drop = FALSE] %*% direction)^2
  }
  sure <- if (min(values$values) > 1e-9) sum(information) / sqrt(sum(information^2)) else 0
  if (sure < 4) {
    stop("The release does not identify all coefficients. Leave a column out, or merge rare values.", call. = FALSE)
  }
  if (sure < 30 && length(cells$changed)) {
    warning("The noise is strong: these intervals may be too short. `pramana regress` gives better ones.", call. = FALSE)
  }
  inverse <- solve(slope)
  covariance <- inverse %*% crossprod(scores) %*% t(inverse) * nrow(scores) / (nrow(scores) - ncol(scores))
  se <- sqrt(diag(covariance))
  reach <- qnorm((1 + level) / 2) * se
  data.frame(estimate = beta, se = se, low = beta - reach, high = beta + reach,
             p = 2 * pnorm(-abs(beta / se)), row.names = colnames(cells$x))
}

# Newton's steps, halved where the scores would grow.
pm_root <- function(x, weight, value, link, beta) {
  score <- function(beta) {
    at <- link(as.vector(x %*% beta))
    list(score = as.vector(crossprod(x, value - weight * at$mean)), slope = crossprod(x, x * (weight * at$rise)))
  }
  now <- score(beta)
  for (round in 1:60) {
    scale <- sqrt(pmax(abs(diag(now$slope)), 1e-300))
    step <- tryCatch(solve(now$slope, now$score), error = function(error) NULL)
    if (is.null(step)) stop("The columns of the model say the same, or nobody has one of the values.", call. = FALSE)
    length <- 1
    repeat {
      new <- score(beta + length * step)
      if (is.finite(sum(new$score)) && sum(abs(new$score / scale)) < sum(abs(now$score / scale))) break
      length <- length / 2
      if (length < 1e-4) return(beta)
    }
    beta <- beta + length * step
    now <- new
  }
  beta
}

# The design of each kind of unchanged values and each possible original, and the weight of each.
pm_model_cells <- function(records, formula) {
  names <- all.vars(formula)
  response <- all.vars(formula[[2]])
  if (length(response) != 1 || !identical(formula[[2]], as.name(response))) {
    stop("The response must be a column.", call. = FALSE)
  }
  changed <- names[vapply(names, function(name) pm_column(name)$randomised, NA)]
  kept <- setdiff(names, c(changed, response))
  axes <- pm_axes(records, changed)
  undone <- matrix(1, nrow(records), 1)
  originals <- data.frame(row = 1)
  for (axis in axes) {
    many <- nrow(axis$groups)
    before <- ncol(undone)
    undone <- undone[, rep(seq_len(before), many), drop = FALSE] *
      axis$solve[axis$place, rep(seq_len(many), each = before), drop = FALSE]
    values <- lapply(seq_along(axis$columns), function(at) {
      rep(pm_values(records, axis$columns[at])[axis$groups[, at] + 1], each = before)
    })
    originals <- originals[rep(seq_len(before), many), , drop = FALSE]
    originals[axis$columns] <- values
  }
  used <- rep(TRUE, nrow(records))
  for (name in setdiff(names, changed)) used <- used & !is.na(records[[name]])
  for (axis in axes) used <- used & !is.na(axis$place)
  values <- lapply(kept, function(name) records[[name]][used])
  key <- do.call(paste, c(list(rep("", sum(used))), values, sep = "\r"))
  first <- !duplicated(key)
  kinds <- as.data.frame(setNames(lapply(values, `[`, first), kept), stringsAsFactors = FALSE)
  kind <- match(key, key[first])
  rows <- expand.grid(kind = seq_len(sum(first)), original = seq_len(nrow(originals)))
  frame <- cbind(originals[rows$original, , drop = FALSE], kinds[rows$kind, , drop = FALSE])
  known <- stats::complete.cases(frame[setdiff(names(frame), "row")])
  terms <- delete.response(terms(formula))
  inside <- model.matrix(terms, droplevels(frame[known, , drop = FALSE]))
  x <- matrix(0, nrow(frame), ncol(inside), dimnames = list(NULL, colnames(inside)))
  x[known, ] <- inside
  undone <- undone[used, , drop = FALSE]
  for (original in which(!stats::complete.cases(originals))) undone[, original] <- 0
  y <- if (response %in% changed) {
    matrix(rep(pm_number(originals[[response]]), each = nrow(undone)), nrow(undone))
  } else {
    matrix(pm_number(records[[response]][used]), ncol = 1)
  }
  y[is.na(y)] <- 0
  w <- pm_weights(records)[used]
  sums <- function(values) as.vector(rowsum(values, kind, reorder = TRUE))
  list(x = x, kind = kind, kinds = sum(first), undone = undone, w = w, y = y, changed = changed,
       weight = sums(w * undone), value = sums(w * undone * y[, rep_len(seq_len(ncol(y)), ncol(undone))]))
}

# The labels of a randomised column as a model takes them: numbers, or a factor.
pm_values <- function(records, name) {
  column <- pm_column(name)
  labels <- column$labels
  if (!is.null(column$edges)) {
    labels[length(labels)] <- if (anyNA(records[[name]])) NA else labels[length(labels)]
    return(factor(labels, levels = column$labels))
  }
  labels[is.na(column$values)] <- NA
  if (is.numeric(records[[name]])) return(as.numeric(column$values))
  factor(labels, levels = labels[!is.na(labels)])
}

pm_number <- function(values) {
  if (is.factor(values) || is.character(values)) {
    values <- as.factor(values)
    if (nlevels(values) != 2) stop("A response of categories must have two of them.", call. = FALSE)
    return(as.integer(values) - 1)
  }
  as.numeric(values)
}
