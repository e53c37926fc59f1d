import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { getPrograms } from "#bench/programs.ts";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import { type ServicesStage, startServicesStage } from "#test/handover/services-stage.ts";
import { waitUntil } from "#test/handover/stage.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";

// Moves load balancers between the stock AWS controller and ours, on patched moto and a real API server.

const TYPE = "service.beta.kubernetes.io/aws-load-balancer-type";
const SERVICES = [
  { name: "network", annotations: { [TYPE]: "nlb" } },
  { name: "classic", annotations: {} },
] as const;

let stage: ServicesStage;
/** The resources in the account before the first Service. */
let before: readonly string[];

beforeAll(async () => {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const [programs, moto] = [await getPrograms(say), await getMotoProgram(say)];
  if (moto.kind === "missing") throw new Error(`this needs moto: ${moto.because}`);
  stage = await startServicesStage(programs.controlPlane, programs.stock, moto.value);
  await stage.join(3);
});
afterAll(() => stage?.close());
beforeEach(async () => {
  before = await stage.state();
});
afterEach(async ({ task }) => {
  await Promise.all(SERVICES.map(({ name }) => stage.release(name)));
  if (task.result?.state === "fail")
    for (const line of stage.oursSaid().slice(0, 20)) process.stderr.write(`${JSON.stringify(line)}\n`);
  await stage.stopOurs();
  await stage.stopStock();
});

describe("load balancers of the stock controller", () => {
  test("are taken over unchanged, and deleted with their Services", async () => {
    await stage.startStock("--concurrent-service-syncs=10");
    await create();
    const hosts = await hostsOf();
    await stage.stopStock();
    const made = await stage.state();

    stage.moto.forgetCalls();
    await stage.startOurs();
    await Promise.all(SERVICES.map(({ name }) => untilApplied(name)));
    expect(await hostsOf()).toEqual(hosts);
    // The stock controller does not mark a classic load balancer's security group with its Service.
    expect(changes()).toEqual(["ec2:CreateTags"]);
    expect(withoutServiceTags(await stage.state())).toEqual(withoutServiceTags(made));

    const [joined] = await stage.join(1);
    await untilTargets(joined ?? "");
    await remove();
    await stage.stopOurs();
    await stage.tidy();
    expect(withoutInstances(await stage.state())).toEqual(withoutInstances(before));
  });
});

describe("load balancers of ours", () => {
  test("are taken back unchanged by the stock controller, and deleted with their Services", async () => {
    await stage.startOurs();
    await create();
    const hosts = await hostsOf();
    await Promise.all(SERVICES.map(({ name }) => untilApplied(name)));
    await stage.stopOurs();
    const made = await stage.state();

    stage.moto.forgetCalls();
    await stage.startStock("--concurrent-service-syncs=10");
    await Promise.all(
      SERVICES.map(({ name }) =>
        waitUntil(
          `the stock controller to ensure ${name}`,
          async () => (await stage.stockEvents(name)).includes("EnsuredLoadBalancer"),
          60_000,
        ),
      ),
    );
    expect(await hostsOf()).toEqual(hosts);
    // moto reports unset attributes only after others were set.
    expect(withoutMoreAttributes(await stage.state())).toEqual(withoutMoreAttributes(made));

    const [joined] = await stage.join(1);
    await untilTargets(joined ?? "");
    await remove();
    await stage.stopStock();
    await stage.tidy();
    expect(withoutInstances(await stage.state())).toEqual(withoutInstances(before));
  });
});

async function create(): Promise<void> {
  for (const { name, annotations } of SERVICES) await stage.create(name, annotations);
  await waitUntil(
    "the addresses",
    async () => (await hostsOf()).every((host) => host !== undefined),
    120_000,
  );
}

async function remove(): Promise<void> {
  for (const { name } of SERVICES) await stage.remove(name);
  await waitUntil(
    "the Services to go",
    async () => (await Promise.all(SERVICES.map(({ name }) => stage.isGone(name)))).every(Boolean),
    120_000,
  );
}

function hostsOf(): Promise<readonly (string | undefined)[]> {
  return Promise.all(
    SERVICES.map(async ({ name }) => (await stage.read(name)).status?.loadBalancer?.ingress?.[0]?.hostname),
  );
}

/** Returns the calls that change a resource. */
function changes(): readonly string[] {
  return stage.moto
    .calls()
    .map(({ name }) => name)
    .filter((name) => !/:Describe/.test(name));
}

async function untilApplied(name: string): Promise<void> {
  await waitUntil(
    `${name} to be ours`,
    async () => {
      const mark = (await stage.read(name)).metadata.annotations?.[LOAD_BALANCER_ANNOTATION];
      return mark !== undefined && JSON.parse(mark).state === "applied";
    },
    120_000,
  );
}

async function untilTargets(id: string): Promise<void> {
  await waitUntil(
    `${id} to be a target`,
    async () => {
      const things = (await stage.state()).filter((line) => line.includes(id));
      return ["target group", "classic load balancer"].every((kind) =>
        things.some((line) => line.includes(`"kind":"${kind}"`)),
      );
    },
    120_000,
  );
}

function withoutServiceTags(state: readonly string[]): readonly string[] {
  return state.map((line) =>
    line.includes('"kind":"security group"')
      ? line.replace(/,?"kubernetes.io\/service-name":"[^"]*"/, "")
      : line,
  );
}

function withoutMoreAttributes(state: readonly string[]): readonly string[] {
  return state.map((line) => line.replace(/"AdditionalAttributes":\[[^\]]*\],/, ""));
}

function withoutInstances(state: readonly string[]): readonly string[] {
  return state.filter((line) => !line.includes('"kind":"instance"'));
}
