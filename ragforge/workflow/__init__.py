"""Programs in the SPU language: read, checked and run. docs/programs.md is their reference."""
