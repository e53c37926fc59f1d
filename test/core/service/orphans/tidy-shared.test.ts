import { describe, expect, test } from "vitest";
import { createWorld, lose, pass, serve } from "#test/core/service/orphans/world.ts";

describe.each([true, false])(
  "what load balancers share and none uses, orphans being deleted: %s",
  (isDeleting) => {
    test("is tidied by the audit, each thing once", async () => {
      const world = { ...createWorld(isDeleting), unused: ["rule-1", "rule-2"] };
      serve(world, "web");
      const { decision } = await pass(world);
      expect(world.done.map(({ what }) => what)).toEqual(["Tidy rule-1", "Tidy rule-2"]);
      expect(decision).toMatchObject({ kind: "unchanged" });
    });

    test("is told where it cannot be tidied, and holds nothing else back", async () => {
      const world = { ...createWorld(isDeleting), unused: ["rule-1"] };
      serve(world, "web");
      serve(world, "gone");
      lose(world, "gone");
      const failure = { code: "Denied", message: "you may not" };
      world.failing.set("Tidy", failure);
      const { decision } = await pass(world);
      expect(world.done.map(({ what }) => what)).toEqual(isDeleting ? ["Mark lb-gone"] : []);
      expect(decision).toMatchObject({ kind: "skip", because: failure });
    });

    test("is left alone on a cloud that knows nothing of it", async () => {
      const world = { ...createWorld(isDeleting), unused: ["rule-1"], cannotTidy: true };
      serve(world, "web");
      expect((await pass(world)).decision).toMatchObject({ kind: "unchanged" });
      expect(world.done).toEqual([]);
    });

    test("is left alone where the Services are not known", async () => {
      const world = { ...createWorld(isDeleting), unused: ["rule-1"] };
      const { decision } = await pass(world, { related: {} });
      expect(world.done).toEqual([]);
      expect(decision).toMatchObject({ kind: "retry", because: { code: "ServicesUnknown" } });
    });
  },
);
