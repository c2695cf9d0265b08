"""What programs can do beyond control flow, one file per operation, each with an `OPERATION`."""
