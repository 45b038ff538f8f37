"""Files of every kind give Pillow's pixels to the byte, or are refused where Pillow raises.

image_kinds_test.py DECODE_ROWS makes the files (tests/support/files/image_files.py, damaged_images.py) and
compares. Exits with 77 if Pillow is missing.
"""
import pathlib
import sys
import tempfile

import pillow_exact_test as exact

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/files"))


def cases():
    crop, center = exact.RANDOM_RESIZED_CROP, exact.RESIZE_CENTER_CROP
    for mode in ("RGB", "L"):
        for exif in (False, True):
            what = f"{mode}, orientation {'applied' if exif else 'ignored'}"
            options = dict(mode=mode, exif=exif)
            yield exact.Case(f"{what}, whole", center, (48, 48), 48, flip=0, **options)
            yield exact.Case(f"{what}, crops", crop, (31, 23), seed=5, **options)
            yield exact.Case(f"{what}, centre", exact.WHOLE, (40, 33), flip=0, **options)
            yield exact.Case(f"{what}, other crops", crop, (9, 40), seed=6, epoch=3, **options)


def all_refused(program, paths, exif=False):
    """Returns whether Pillow accepts each of these files and Penstock refuses each with one of its refusal codes."""
    case = exact.Case("refused", exact.RANDOM_RESIZED_CROP, (31, 23), exif=exif)
    wrong = [f"{path.name}: fault {fault}, Pillow takes it: {case.image(path) is not None}"
             for path, (fault, *_) in zip(paths, exact.decoded(program, case, paths))
             if fault not in exact.REFUSALS or case.image(path) is None]
    print(f"refused: {len(paths)} files that Pillow takes are refused" if not wrong else
          "refused: FAILED:\n  " + "\n  ".join(wrong))
    return not wrong


def never_else(program, paths):
    """Returns whether each file equals Pillow's result or is refused, and none that Pillow refuses is decoded."""
    case = exact.Case("damaged rasters", exact.RANDOM_RESIZED_CROP, (31, 23), seed=9)
    wrong, decoded = [], 0
    for sample, (path, (fault, _, _, size, row)) in enumerate(zip(paths, exact.decoded(program, case, paths))):
        image = case.image(path)
        if fault in exact.REFUSALS:
            continue
        decoded += 1
        if image is None or size != image.size or row != case.row(image, sample):
            wrong.append(f"{path.name}: fault {fault}, Pillow takes it: {image is not None}")
    enough = decoded * 3 > len(paths)
    print(f"damaged rasters: {decoded} of {len(paths)} equal Pillow's, the others are refused" if not wrong and enough
          else "damaged rasters: FAILED:\n  " + "\n  ".join(wrong or [f"only {decoded} of {len(paths)} decoded"]))
    return not wrong and enough


def main():
    if exact.Image is None:
        exact.skip("no Pillow for /usr/bin/python3; install python3-pil")
    import damaged_images
    import image_files
    import raster_files
    import tiff_files

    program, failed = sys.argv[1], False
    with tempfile.TemporaryDirectory() as name:
        paths = image_files.write(image_files.all_files(), name)
        for case in cases():
            failed = not exact.report(program, case, paths) or failed
        bad = image_files.write(damaged_images.damaged(), name)
        case = exact.Case("damaged", exact.RANDOM_RESIZED_CROP, (31, 23), seed=8)
        failed = not exact.report(program, case, bad) or failed
        rasters = image_files.write(raster_files.damaged_rasters(), name)
        failed = not never_else(program, rasters) or failed
        failed = not all_refused(program, image_files.write(damaged_images.refused(), name)) or failed
        turned = image_files.write(tiff_files.turned_tiffs(), name)
        for mode in ("RGB", "L"):
            case = exact.Case(f"{mode}, turned TIFFs", exact.RANDOM_RESIZED_CROP, (31, 23), seed=4, mode=mode)
            failed = not exact.report(program, case, turned) or failed
        sideways = [path for path in turned if path.name.split("-")[1] in "2345678"]
        failed = not all_refused(program, sideways, exif=True) or failed
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
