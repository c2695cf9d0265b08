"""The thinking part: asks the model, decides what may happen, runs the tools, goes on until it is done."""
