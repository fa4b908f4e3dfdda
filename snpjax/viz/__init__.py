"""Pictures. They need matplotlib: `pip install "snpjax[viz]"`."""
