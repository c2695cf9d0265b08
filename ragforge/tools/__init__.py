"""What the model can do, one file per tool, each with a `TOOL`; `registry.find_tools` lists them."""
