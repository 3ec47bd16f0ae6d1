"""The query IR on Spark: the operators of the embedded executor as frames."""
