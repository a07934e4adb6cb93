"""Mutations of fields in batches."""
from mutations.mutation import Mutation

FIELDS = ("python", "tests/python/test_fields.py")

MUTATIONS = [
    Mutation("rows of a batch with an empty row stay where they were", "loader/field_columns.cpp",
             "std::memmove(data.data() + end, data.data() + cell.offset, cell.bytes);", "(void)data;",
             ("loader", "Rows of skipped samples*")),
    Mutation("a field that does not fit is empty", "loader/worker/field_filler.cpp",
             "cell.does_not_fit = fits ? 0 : 1;", "cell.does_not_fit = 0;", (*FIELDS, "-k", "substitute_fits")),
    Mutation("text may be anything", "loader/worker/field_filler.cpp",
             "if (fields_[field].kind == FieldKind::text) require_utf8(stored);",
             "if (fields_[field].kind == FieldKind::by_name) require_utf8(stored);", (*FIELDS, "-k", "bad_samples")),
    Mutation("an empty row keeps the array of an earlier batch", "loader/ring/field_places.cpp",
             "std::fill(place.begin(), place.end(), std::byte{0});", "(void)place;", (*FIELDS, "-k", "used_before")),
    Mutation("an array in Fortran's order is copied as it is", "loader/transform/array_field.cpp",
             "header.fortran_order && header.shape.size() > 1", "header.shape.size() > 100", (*FIELDS, "-k", "fortran")),
    Mutation("stored labels of merged classes are delivered", "loader/field_layout.cpp",
             "field.source == k_label_field && dataset.translates_labels()", "field.source.empty()",
             (*FIELDS, "-k", "merged")),
]
