"""One model of the whole table, fitted to what was released: latent classes under a channel."""
