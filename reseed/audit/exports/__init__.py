"""An audited run handed on: in-toto statement, RO-Crate."""
