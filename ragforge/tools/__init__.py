"""What the model can do: a file a tool, each with a `TOOL`; `registry.find_tools` lists them."""
