"""Views of records: text now; pictures and pages in their own files."""
