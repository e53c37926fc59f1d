import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";

let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "small-"));
});
afterEach(() => rm(folder, { recursive: true }));

test.each([0, 1, 65_536, 65_537, 200_000])("a file of %i bytes is read", async (bytes) => {
  await writeFile(at("f"), "ä".repeat(bytes / 2) + "x".repeat(bytes % 2));
  expect(Buffer.byteLength(await readSmallFile(at("f"), 200_000))).toBe(bytes);
});

test.each<[string, () => Promise<unknown>, string, string]>([
  ["a file that is larger", () => writeFile(at("f"), "x".repeat(11)), "EFBIG", "cannot be read (EFBIG)"],
  ["no file", async () => {}, "ENOENT", "cannot be read (ENOENT)"],
  ["a pipe without a writer", () => pipe("f"), "NotRegular", "is not a regular file: devices and pipes"],
])("%s is refused", async (_, make, code, words) => {
  await make();
  const error: unknown = await readSmallFile(at("f"), 10).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code });
  expect(describeFileError(error)).toContain(words);
});

test.each([
  ["a device without end", "/dev/zero", "NotRegular"],
  ["a folder", tmpdir(), "EISDIR"],
])("%s is refused, also where pipes are read", async (_, file, code) => {
  await expect(readSmallFile(file, 10)).rejects.toMatchObject({ code });
  await expect(readSmallFile(file, 10, { pipes: true })).rejects.toMatchObject({ code });
});

test("a pipe is read to its end if allowed, however late and slowly it is written", async () => {
  await pipe("f");
  const reading = readSmallFile(at("f"), 10, { pipes: true });
  const writer = spawn("sh", ["-c", `(sleep 0.1; printf abc; sleep 0.1; printf def) > ${at("f")}`]);
  expect(await reading).toBe("abcdef");
  if (writer.exitCode === null) await new Promise((resolve) => writer.once("close", resolve));
});

test("a pipe without end is not waited for", async () => {
  await pipe("f");
  const error: unknown = await readSmallFile(at("f"), 10, { pipes: true }).catch((reason: unknown) => reason);
  expect(describeFileError(error)).toBe("is a pipe that did not come to its end in 5 s");
}, 20_000);

function pipe(name: string): Promise<unknown> {
  return promisify(execFile)("mkfifo", [at(name)]);
}
