"""Mutations of fields in batches."""
from mutations.mutation import Mutation

FIELDS = ("python", "tests/python/test_fields.py")
BOXES = ("python", "tests/python/test_box_transforms.py")
TARGETS = ("python", "tests/python/test_targets.py")

VIEWS = ("python", "tests/python/test_fields_with_views.py")
DEVICE = ("python", "tests/python/test_fields_on_a_device.py")

MUTATIONS = [
    Mutation("targets follow the first view", "loader/worker/field_filler.cpp", "images[fields_[field].view.value_or(0)]", "images[0]",
             (*VIEWS, "-k", "its_own_view")),
    Mutation("workers do not know the view of a field", "loader/worker/worker_config.cpp", "  put_value(out, field.view.value_or(0));\n",
             "  put_value(out, std::uint32_t{0});\n", (*VIEWS, "-k", "the_same_from")),
    Mutation("large boxes follow the first view", "loader/field_columns.cpp", "wanted.view.value_or(0)));", "0));",
             (*VIEWS, "-k", "do_not_fit")),
    Mutation("a mask has the size of the first view", "loader/field_layout.cpp", "options.view(field.view.value_or(0))", "options.view(0)",
             (*VIEWS, "-k", "its_own_view")),
    Mutation("a target of several views need not say which", "loader/loader_options.cpp", "!target.view && num_views > 1", "false",
             (*VIEWS, "-k", "refused")),
    Mutation("masks come with mixed images", "loader/loader_options.cpp", "refuse_unless(!has_targets(options),", "refuse_unless(true || !has_targets(options),",
             ("python", "tests/python/test_fields_with_mix.py", "-k", "cannot_follow")),
    Mutation("arrays of fields keep memory of the device", "python/bindings/batch_fields.cpp",
             "nb::object owner_of(nb::handle, const ProcessDeviceBatch& batch) {", "nb::object owner_of(nb::handle self, const ProcessDeviceBatch& batch) {\n  if (pid_t{0} == 0) return nb::borrow(self);",
             (*DEVICE, "-k", "keep_no_memory")),
    Mutation("masks are delivered for images that a device mirrors", "loader/cuda/cuda_options.cpp",
             "[](const Field& field) { return is_target(field.kind); })", "[](const Field&) { return false; })", (*DEVICE, "-k", "refused")),
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
    Mutation("a mask is filled with 0", "loader/transform/targets/move_mask.cpp", "step.fill = fill_;", "step.fill = {};",
             (*TARGETS, "-k", "nearest_pixels")),
    Mutation("a mask of any size is taken", "loader/transform/targets/target_maker.cpp",
             "mask.width != image.size.width || mask.height != image.size.height", "mask.width == 0",
             (*TARGETS, "-k", "damaged_masks or bad_target")),
    Mutation("a crop by boxes leaves boxes whose centers are outside", "loader/transform/targets/move_targets.cpp",
             "if (!has_center_in(region, box)) box = {.label = box.label};", "(void)box;", (*BOXES, "-k", "may_be_taken")),
    Mutation("boxes that reach over an edge are kept", "loader/transform/targets/move_targets.cpp",
             "box.x0 >= 0 && box.y0 >= 0 && ", "", (*BOXES, "-k", "dropped")),
    Mutation("crops by boxes take the boxes of the stored image", "loader/transform/draw/drawing.cpp",
             "  move_targets(std::span<const Step>(steps_).subspan(num_earlier_), canvas, boxes);\n", "  (void)canvas;\n",
             (*BOXES, "-k", "steps_before")),
    Mutation("a crop by boxes is drawn again without them", "loader/batch.cpp", ", {.drawn = &draw(i).iou_crop});", ");",
             (*BOXES, "-k", "what_its_steps_make")),
    Mutation("large boxes are moved by another crop", "loader/session_faults.cpp", "{.drawn = &row.draw.iou_crop}", "{}",
             (*BOXES, "-k", "larger_than")),
    Mutation("boxes stay where they were in the image", "loader/transform/targets/target_maker.cpp",
             "move_targets(image.steps, canvas, targets);", "(void)canvas;", (*TARGETS, "-k", "boxes_and_keypoints")),
]
