import { describe, expect, test } from "vitest";
import { findWatch, NAMED_WATCHES, OPERATED_CONTROLLERS, selectWatches, WATCHES } from "#core/controllers.ts";
import { CONTROLLER_ALIASES } from "#core/descriptors.ts";

test("each name and alias belongs to one controller", () => {
  const names = WATCHES.flatMap(({ name, enablement }) => [name, ...(enablement?.aliases ?? [])]);
  expect(new Set(names).size).toBe(names.length);
});

test("a controller's watch half and operations have one name and one function", () => {
  const pick = ({
    name,
    functionName,
  }: (typeof OPERATED_CONTROLLERS)[number] | (typeof WATCHES)[number]) => ({
    name,
    functionName,
  });
  expect(NAMED_WATCHES.map(pick)).toEqual(OPERATED_CONTROLLERS.map(pick));
});

test("companions follow their controller and use its function", () => {
  const grouped = NAMED_WATCHES.flatMap(({ name }) => selectWatches([name], WATCHES));
  expect(grouped).toEqual(WATCHES);
  for (const { name, enablement, functionName } of WATCHES)
    expect(findWatch(enablement?.companionOf ?? name)?.functionName, name).toBe(functionName);
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
