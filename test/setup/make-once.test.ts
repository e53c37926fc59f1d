import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeOnce } from "#test/setup/make-once.ts";

/** No system gives out a process id as large as this. */
const NOBODY = 2 ** 30;

describe("what is made once", () => {
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

  it("is made by one of many who ask at the same time, and found by all", async () => {
    const folder = join(parent, "thing");
    await Promise.all(Array.from({ length: 5 }, () => makeOnce(folder, make)));
    expect([made, await readFile(join(folder, "number"), "utf8")]).toEqual([1, "1"]);
    expect(await readdir(parent)).toEqual(["thing"]);
  });

  it("is not there when making it failed, and is made by the next", async () => {
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

  it("does not wait for a run that has died", async () => {
    const folder = join(parent, "thing");
    await writeFile(`${folder}.lock`, String(NOBODY));
    await makeOnce(folder, make);
    expect(await readdir(parent)).toEqual(["thing"]);
  });
});
