import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { add, getRefusal, type PolicyUnderTest, remove, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const USER = "route";
const CONDITION = { type: "NetworkUnavailable", status: "True", reason: "NoRouteCreated" };
const OTHER = { type: "Ready", status: "True", reason: "KubeletReady" };

interface Row {
  readonly what: string;
  readonly patch: readonly unknown[];
  readonly on?: "";
}

/** Every row starts with a Ready node whose condition says that it has no routes. */
const ALLOWED: readonly Row[] = [
  {
    what: "changes the condition",
    patch: [add("/status/conditions/1/status", "False"), add("/status/conditions/1/reason", "RouteCreated")],
  },
  { what: "takes the condition away", patch: [remove("/status/conditions/1")] },
  {
    what: "writes the condition anew",
    patch: [remove("/status/conditions/1"), add("/status/conditions/-", CONDITION)],
  },
];

const REFUSED: readonly (Row & { readonly says: string })[] = [
  {
    what: "changes another condition",
    patch: [add("/status/conditions/0/status", "False")],
    says: "no condition but",
  },
  { what: "takes another condition away", patch: [remove("/status/conditions/0")], says: "no condition but" },
  {
    what: "adds another condition",
    patch: [add("/status/conditions/-", { type: "Mine", status: "True" })],
    says: "no condition but",
  },
  {
    what: "writes the condition twice",
    patch: [add("/status/conditions/-", CONDITION)],
    says: "no condition but",
  },
  {
    what: "writes addresses",
    patch: [add("/status/addresses", [{ type: "InternalIP", address: "10.0.0.4" }])],
    says: "nothing of the status but",
  },
  {
    what: "writes what the node can carry",
    patch: [add("/status/capacity", { pods: "5" })],
    says: "nothing of the status but",
  },
  ...Object.entries({
    phase: "Running",
    runtimeHandlers: [{ name: "forged", features: { userNamespaces: true } }],
    features: { supplementalGroupsPolicy: true },
    images: [{ names: ["registry.example.com/forged"], sizeBytes: 1 }],
  }).map(([field, value]) => ({
    what: `writes ${field} of the status`,
    patch: [add(`/status/${field}`, value)],
    says: `nothing of the status but the condition NetworkUnavailable: ${field}`,
  })),
  {
    what: "labels by the status",
    patch: [add("/metadata/labels/a", "b")],
    says: "neither labels nor annotations, finalizers or owners: labels",
  },
  { what: "cordons", patch: [add("/spec/unschedulable", true)], on: "", says: "nothing of the spec" },
  { what: "labels", patch: [add("/metadata/labels/a", "b")], on: "", says: "neither labels nor" },
  { what: "annotates", patch: [add("/metadata/annotations/a", "b")], on: "", says: "neither labels nor" },
];

describeWithPart("control-plane", "infra/admission/route.yaml: the route function", (binaries) => {
  let under: PolicyUnderTest;
  let count = 0;

  async function join(of: PolicyUnderTest): Promise<string> {
    count += 1;
    const name = `node-${count}`;
    await of.cluster.join({ name });
    await of.cluster.patch(`${name}/status`, [add("/status/conditions", [OTHER, CONDITION])]);
    return name;
  }

  beforeAll(async () => {
    under = await startPolicy(
      binaries,
      ["route.yaml"],
      async (starting) => starting.patchNode(USER, await join(starting), [add("/spec/unschedulable", true)]),
      { manifests: [fileURLToPath(new URL("all-powerful.yaml", import.meta.url))] },
    );
  });
  afterAll(() => under?.close());

  it.each(ALLOWED)("$what", async ({ patch }) => {
    expect(getRefusal(await under.patchNode(USER, `${await join(under)}/status`, patch))).toEqual([200, ""]);
  });

  it.each(REFUSED)("never $what", async ({ patch, says, on = "/status" }) => {
    const said = getRefusal(await under.patchNode(USER, `${await join(under)}${on}`, patch));
    expect(said).toEqual([422, expect.stringContaining(says)]);
  });
});
