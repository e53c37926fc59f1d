import { describe, expect, test } from "vitest";
import { CONTROLLER_ALIASES } from "#core/descriptors.ts";
import { findWatch, NAMED_WATCHES, WATCHES } from "#core/watches.ts";

test("each name and alias belongs to one controller", () => {
  const names = WATCHES.flatMap(({ name, enablement }) => [name, ...(enablement?.aliases ?? [])]);
  expect(new Set(names).size).toBe(names.length);
});

test("the aliases in cluster entries are those of the controllers", () => {
  const aliases = NAMED_WATCHES.flatMap(({ name, enablement }) =>
    (enablement?.aliases ?? []).map((alias) => [alias, name]),
  );
  expect(CONTROLLER_ALIASES).toEqual(Object.fromEntries(aliases));
});

describe.each(WATCHES.map(({ name }) => name))("%s", (name) => {
  test("is found by its name", () => {
    expect(findWatch(name)?.name).toBe(name);
  });
});

test("an unknown name finds nothing", () => {
  expect(findWatch("route")).toBeUndefined();
});

test("the stock controller's controllers are enabled by default", () => {
  expect(
    WATCHES.filter(({ enablement }) => enablement?.onByDefault === true).map(({ name }) => name),
  ).toEqual(["cloud-node-controller", "cloud-node-lifecycle-controller"]);
});
