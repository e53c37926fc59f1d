import { describe, expect, test } from "vitest";
import { createGatheredBytes } from "#kube/client/byte-buffer.ts";

describe("gathered bytes", () => {
  test.each([
    { given: "bytes", sizes: Array.from({ length: 5_000 }, () => 1) },
    { given: "pieces that grow", sizes: Array.from({ length: 300 }, (_, index) => index * 7) },
    { given: "one large piece", sizes: [3_000_000] },
    { given: "large and small ones", sizes: [1_000_000, 1, 1_023, 1_024, 2_000_000, 0, 5] },
    { given: "nothing", sizes: [] },
  ])("$given come back as they were", ({ sizes }) => {
    const gathered = createGatheredBytes();
    const pieces = sizes.map((size, index) => Buffer.alloc(size, index % 251));
    for (const piece of pieces) gathered.add(piece);
    expect(gathered.length).toBe(sizes.reduce((sum, size) => sum + size, 0));
    expect(gathered.take().equals(Buffer.concat(pieces))).toBe(true);
    expect([gathered.length, gathered.take().length]).toEqual([0, 0]);
  });

  test("retain none of their source buffers, and little more than their own bytes", () => {
    const gathered = createGatheredBytes();
    const read = Buffer.alloc(65_536, "x");
    for (let index = 0; index < 100; index += 1) gathered.add(read.subarray(index, index + 1));
    read.fill("y");
    const taken = gathered.take();
    expect(taken.toString()).toBe("x".repeat(100));
    expect(taken.buffer.byteLength).toBeLessThanOrEqual(1_024);
  });
});
