import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Results } from "#bench/measurement.ts";
import { renderMarkdown } from "#bench/report/markdown.ts";
import { drawPictures, PICTURE_FILE, PICTURE_FOLDER } from "#bench/report/pictures.ts";

/** The file of the measurements in a report's folder. */
export const RESULTS_FILE = "results.json";

/**
 * Writes a report into the folder: `results.json` with the notes, `results.md`, and `pictures/`, from which
 * it removes an earlier report's pictures. It writes the measurements first, so that a later failure cannot
 * lose them.
 */
export async function writeReport(folder: string, results: Results, notes: readonly string[]): Promise<void> {
  const pictureFolder = join(folder, PICTURE_FOLDER);
  await mkdir(pictureFolder, { recursive: true });
  await writeFile(join(folder, RESULTS_FILE), serialize({ ...results, notes: [...notes] }));
  const pictures = drawPictures(results);
  await writeFile(join(folder, "results.md"), renderMarkdown(results, notes, pictures));
  for (const file of await readdir(pictureFolder)) {
    if (PICTURE_FILE.test(file)) await rm(join(pictureFolder, file));
  }
  for (const { file, svg } of pictures) await writeFile(join(pictureFolder, file), svg);
}

/**
 * Serializes to JSON with a measurement on each line: readable differences between two runs, without extra
 * length.
 */
function serialize({ machine, rows, measurements, notes }: Results): string {
  const lines = (items: readonly unknown[] = []): string =>
    items.length === 0 ? "[]" : `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]`;
  const members = {
    machine: JSON.stringify(machine),
    rows: lines(rows),
    measurements: lines(measurements),
    notes: lines(notes),
  } satisfies Record<keyof Results, string>;
  return `{\n${Object.entries(members)
    .map(([key, value]) => `${JSON.stringify(key)}: ${value}`)
    .join(",\n")}\n}\n`;
}
