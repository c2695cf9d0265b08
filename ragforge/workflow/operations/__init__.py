"""What programs can do beyond the flow of control: a file an operation, each with an `OPERATION`."""
