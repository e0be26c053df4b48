"""A release and its estimators: tables, means, quantiles, regression, synthetic records, trees."""
