import { afterAll, beforeAll, expect, test } from "vitest";
import { createBurst } from "#test/faults/burst.ts";
import { playRow } from "#test/faults/play-row.ts";
import type { Row } from "#test/faults/row.ts";
import type { Stage } from "#test/faults/stage.ts";
import { startWorld, type World } from "#test/faults/world.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODES = 10;
const JSON_PATCH = "application/json-patch+json";

/** A wrong controller's change of the first node, and the expected message. */
const WRONGS: readonly {
  readonly name: string;
  readonly wrong: (stage: Stage, node: string) => Promise<unknown>;
  readonly said: RegExp;
}[] = [
  {
    name: "a node that is tainted again",
    wrong: (stage, node) =>
      patch(stage, node, [
        {
          op: "add",
          path: "/spec/taints/-",
          value: { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" },
        },
      ]),
    said: /is not up: it is tainted/,
  },
  {
    name: "a deleted node",
    wrong: (stage, node) => stage.world.ask({ method: "DELETE", path: `/api/v1/nodes/${node}` }),
    said: /was deleted, and it exists/,
  },
  {
    name: "a removed foreign taint",
    wrong: (stage, node) => patch(stage, node, [{ op: "remove", path: "/spec/taints/0" }]),
    said: /lost the taint node\.cilium\.io/,
  },
  {
    name: "a removed foreign label",
    wrong: (stage, node) =>
      patch(stage, node, [{ op: "remove", path: "/metadata/labels/example.com~1team" }]),
    said: /lost the label example\.com\/team/,
  },
  {
    name: "a node without addresses",
    wrong: (stage, node) =>
      stage.world.admin.send({
        method: "PATCH",
        path: `/api/v1/nodes/${node}/status`,
        contentType: JSON_PATCH,
        body: [{ op: "remove", path: "/status/addresses" }],
      }),
    said: /was refused a patch that leaves .* naked/,
  },
  {
    name: "a write without a report",
    wrong: async (stage) => {
      const [{ event, report } = { event: undefined, report: undefined }] = stage.platform.exchanges();
      if (event === undefined || report === undefined) throw new Error("nothing was invoked");
      (stage.platform.exchanges() as unknown[])[0] = { event, report: { ...report, objects: [] } };
    },
    said: /no report explains the patch of/,
  },
];

describeWithPart("control-plane", "the checks after each row", (binaries) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld(binaries);
  });
  afterAll(() => world?.close());

  test("finds no problem in a correct cluster", async () => {
    const result = await playRow({ name: "right", play: createBurst({ nodes: NODES }) }, world, 1);
    expect(result).toMatchObject({ nodes: NODES, up: NODES, problems: [] });
  });

  test.each(WRONGS)("finds $name", async ({ wrong, said }) => {
    const row: Row = {
      name: "wrong",
      async play(stage) {
        await createBurst({ nodes: NODES })(stage);
        // No controller is left to correct it.
        await stage.settle();
        const [node = ""] = stage.expected.keys();
        await wrong(stage, node);
      },
    };
    const { problems } = await playRow(row, world, 1);
    expect(problems.join("\n")).toMatch(said);
  });
});

function patch(stage: Stage, node: string, body: readonly unknown[]): Promise<unknown> {
  return stage.world.ask({ method: "PATCH", path: `/api/v1/nodes/${node}`, contentType: JSON_PATCH, body });
}
