# How these files were made (R 4.2.2): Rscript make.R. All values are invented.
invented <- data.frame(
  whole = c(3L, NA, -7L), number = c(1.5, NA, 2e10), flag = c(TRUE, NA, FALSE), label = factor(c("wren", NA, "owl")),
  text = c("caf\u00e9", NA, "plain"), stringsAsFactors = FALSE
)
latin <- "caf\xe9"
Encoding(latin) <- "latin1"
# Forms that R writes short: 1:n, numbers that will become texts, and vectors that are known to be sorted.
short <- data.frame(up = 1:70, down = 70:1, real = as.numeric(1:70), sorted = sort(70:1 * 3L), row.names = as.character(1:70))
short$text <- as.character(101:170)
short$latin <- latin
short$ordered <- sort(70:1 / 2)
none <- invented[0, ]
apart <- list(1, "a")
keep <- function(x) x

save(invented, short, none, apart, file = "version-3-gzip.rda")
save(invented, short, none, file = "version-3-xz.rda", compress = "xz")
save(invented, none, file = "version-2-bzip2.rda", version = 2, compress = "bzip2")
save(invented, none, file = "version-2-plain.rda", version = 2, compress = FALSE)
save(invented, file = "ascii.rda", ascii = TRUE)
save(keep, file = "function.rda")
