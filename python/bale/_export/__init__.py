"""Datasets written as files of others: Parquet and MDS."""
