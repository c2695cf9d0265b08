"""The thinking part: asks the model, decides what may happen, runs the tools, and goes on until done."""
