import { describe, expect, test } from "vitest";
import { createWorld, removeService, runPass, serve } from "#test/core/service/orphans/world.ts";

describe.each([true, false])("unused shared resources, with orphan deletion: %s", (isDeleting) => {
  test("are removed by the audit, each once", async () => {
    const world = { ...createWorld(isDeleting), unused: ["rule-1", "rule-2"] };
    serve(world, "web");
    const { decision } = await runPass(world);
    expect(world.done.map(({ what }) => what)).toEqual(["Tidy rule-1", "Tidy rule-2"]);
    expect(decision).toMatchObject({ kind: "unchanged" });
  });

  test("are reported if their removal fails, which holds back nothing else", async () => {
    const world = { ...createWorld(isDeleting), unused: ["rule-1"] };
    serve(world, "web");
    serve(world, "gone");
    removeService(world, "gone");
    const failure = { code: "Denied", message: "you may not" };
    world.failing.set("Tidy", failure);
    const { decision } = await runPass(world);
    expect(world.done.map(({ what }) => what)).toEqual(isDeleting ? ["Mark lb-gone"] : []);
    expect(decision).toMatchObject({ kind: "skip", because: failure });
  });

  test("stay on a cloud without shared resources", async () => {
    const world = { ...createWorld(isDeleting), unused: ["rule-1"], cannotTidy: true };
    serve(world, "web");
    expect((await runPass(world)).decision).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
  });

  test("stay if the Services are unknown", async () => {
    const world = { ...createWorld(isDeleting), unused: ["rule-1"] };
    const { decision } = await runPass(world, { related: {} });
    expect(world.done).toEqual([]);
    expect(decision).toMatchObject({ kind: "retry", because: { code: "ServicesUnknown" } });
  });
});
