import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeOnce } from "#test/setup/make-once.ts";

/** Larger than any process id. */
const NO_PROCESS_ID = 2 ** 30;

describe("makeOnce", () => {
  let parent: string;
  let made: number;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), "make-once-"));
    made = 0;
  });
  afterEach(() => rm(parent, { recursive: true }));

  const make = async (folder: string): Promise<void> => {
    made += 1;
    await writeFile(join(folder, "number"), String(made));
  };

  it("runs once for many simultaneous callers, and all find the result", async () => {
    const folder = join(parent, "thing");
    await Promise.all(Array.from({ length: 5 }, () => makeOnce(folder, make)));
    expect([made, await readFile(join(folder, "number"), "utf8")]).toEqual([1, "1"]);
    expect(await readdir(parent)).toEqual(["thing"]);
  });

  it("leaves nothing when making fails, and the next caller makes it", async () => {
    const folder = join(parent, "thing");
    const failing = makeOnce(folder, async (temporary) => {
      await make(temporary);
      throw new Error("disk full");
    });
    await expect(failing).rejects.toThrow("disk full");
    expect(await readdir(parent)).toEqual([]);
    await makeOnce(folder, make);
    expect(made).toBe(2);
  });

  it("does not wait for a dead run", async () => {
    const folder = join(parent, "thing");
    await writeFile(`${folder}.lock`, String(NO_PROCESS_ID));
    await makeOnce(folder, make);
    expect(await readdir(parent)).toEqual(["thing"]);
  });
});
