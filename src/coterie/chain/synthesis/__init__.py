"""DP marginals and DP dependence → synthetic rows: rows that stand for nobody. Everything here that reads data pays ε."""
