import { expect, test, vi } from "vitest";
import type { Capability } from "#clouds/cloud.ts";
import { selectSettings } from "#config/cluster.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import { LOAD_BALANCERS, type LoadBalancerQuestion } from "#core/service/model.ts";
import { selectTargetNodes } from "#core/service/target-nodes.ts";
import { buildCall } from "#test/clouds/builders.ts";
import type { Gate } from "#test/clouds/load-balancer-world.ts";
import type { Rows } from "#test/clouds/load-balancers/rows.ts";
import { WAIT } from "#test/wait-until-true.ts";

/** Invalid input of a capability. */
const RUBBISH: readonly unknown[] = [
  undefined,
  null,
  0,
  "",
  [],
  {},
  { service: null },
  { service: {}, wanted: true, nodes: [] },
  { service: { metadata: {} }, wanted: "yes", nodes: {} },
  { holdings: "yes" },
];

/** Invalid input of an action, with at least an object as parameters. */
const PARAMETERS: readonly Readonly<Record<string, unknown>>[] = [{}, { id: null }, { name: [], tags: 7 }];

/** Adds rows about the capability, without the function around it. */
export function addCapabilityRows({ stage, made, optional }: Rows): void {
  /** A new process, and a question about the Service. */
  const asked = async (wanted = true) => {
    const { cluster, cloud } = stage().connect();
    const capability = cloud.capabilities?.[LOAD_BALANCERS] as Capability;
    const service = await stage().objects.read();
    const nodes = wanted ? (selectTargetNodes(await stage().objects.related())?.nodes ?? []) : [];
    const question = { service, wanted, nodes } as LoadBalancerQuestion;
    return { cloud, capability, question, settings: selectSettings(cluster) };
  };
  /** An action without a target, guarded by no Service. */
  const anAction = (action: string, parameters: Readonly<Record<string, unknown>> = {}) => ({
    ...{ on: "cloud", capability: LOAD_BALANCERS, action, target: "nothing", parameters },
    precondition: { uid: "unknown", deleting: false },
  });
  const gateThat = (enter: Gate["enter"]): Gate => ({ enter, leave: () => true });

  test("no questions cost no request", async () => {
    const { cloud, capability } = await asked();
    let requests = 0;
    stage().world.setGate(
      gateThat(() => {
        requests += 1;
        return "pass";
      }),
    );
    expect((await capability.observe([], buildCall())).answers).toEqual([]);
    expect(requests).toBeLessThanOrEqual(1);
    await cloud.close();
  });

  test("answers invalid input with errors, and does not reject", async () => {
    await made();
    const process = await asked();
    const { cloud, capability, question } = process;
    for (const rubbish of RUBBISH) {
      const { answers } = await capability.observe([rubbish], buildCall());
      expect([rubbish, answers]).toMatchObject([rubbish, [{ kind: "error" }]]);
    }
    const { answers } = await capability.observe([...RUBBISH, question], buildCall());
    expect(answers.slice(0, -1).map(({ kind }) => kind)).toEqual(RUBBISH.map(() => "error"));
    const removal = await firstRemoval(process);
    const known = removal === undefined ? [] : [removal.action];
    const before = await stage().state();
    stage().world.expectInvalidRequests?.();
    for (const parameters of PARAMETERS)
      for (const action of ["", "constructor", "DeleteEverything", ...known]) {
        const sent = anAction(action, parameters);
        const acted = await capability.act(sent as Parameters<Capability["act"]>[0], buildCall());
        expect([action, parameters, acted.answer.kind]).toEqual([action, parameters, expect.any(String)]);
        if (!known.includes(action)) expect(acted.answer.kind).toBe("error");
      }
    expect(await stage().state()).toEqual(before);
    await cloud.close();
  });

  test('repeats "nothing left" if nothing is left', async () => {
    const { world, objects } = stage();
    await made();
    const { cloud, capability, question, settings } = await asked(false);
    await objects.delete();
    for (let rounds = 0; rounds < 10 && (await objects.read()) !== undefined; rounds += 1) {
      const { report } = await stage().invoke();
      stage().wait(report?.afterSeconds ?? 0);
      await world.advance();
    }
    const [answer] = (await capability.observe([question], buildCall())).answers;
    if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
    const step = world.model.planStep(question, answer.state, settings);
    expect(["settled", "handed-over"]).toContain(step.kind);
    expect(step).not.toHaveProperty("ingress.0");
    await cloud.close();
  });

  /** Returns the first deletion of the Service's load balancer; undefined if the cloud needs none. */
  const firstRemoval = async ({ capability, question, settings }: Awaited<ReturnType<typeof asked>>) => {
    const [answer] = (await capability.observe([question], buildCall())).answers;
    if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
    const unwanted = { ...question, wanted: false, nodes: [] };
    const step = stage().world.model.planStep(unwanted, answer.state, settings);
    if (step.kind !== "act") return undefined;
    const [{ action, target, parameters }] = step.actions;
    const sent = { ...anAction(action, parameters), target };
    return sent as Parameters<Capability["act"]>[0];
  };

  test("sends no request after an abort", async () => {
    await made();
    const before = await stage().state();
    const process = await asked();
    const { cloud, capability, question } = process;
    const removal = await firstRemoval(process);
    let requests = 0;
    stage().world.setGate(
      gateThat(() => {
        requests += 1;
        return "pass";
      }),
    );
    const call = buildCall({ signal: AbortSignal.abort() });
    const { answers } = await capability.observe([question, question], call);
    expect(answers).toMatchObject([
      { kind: "error", code: "Aborted" },
      { kind: "error", code: "Aborted" },
    ]);
    if (removal !== undefined) {
      const { answer } = await capability.act(removal, call);
      expect(answer).toMatchObject({ kind: "error", code: "Aborted" });
    }
    expect(requests).toBe(0);
    expect(await stage().state()).toEqual(before);
    await cloud.close();
  });

  test("ends a hanging request after an abort", async () => {
    await made();
    const process = await asked();
    const { cloud, capability, question } = process;
    const removal = await firstRemoval(process);
    let requests = 0;
    stage().world.setGate(
      gateThat(() => {
        requests += 1;
        return "stalled";
      }),
    );
    const abort = new AbortController();
    const pending = capability.observe([question], buildCall({ signal: abort.signal }));
    await vi.waitFor(() => expect(requests).toBeGreaterThan(0), WAIT);
    abort.abort();
    expect((await pending).answers).toMatchObject([{ kind: "error", code: "Aborted" }]);
    if (removal !== undefined) {
      const before = requests;
      const given = new AbortController();
      const acting = capability.act(removal, buildCall({ signal: given.signal }));
      await vi.waitFor(() => expect(requests).toBeGreaterThan(before), WAIT);
      given.abort();
      expect((await acting).answer).toMatchObject({ kind: "error", code: "Aborted" });
    }
    await cloud.close();
  });

  test("counts its calls, and the throttled ones", async () => {
    await made();
    const first = await asked();
    let requests = 0;
    stage().world.setGate(
      gateThat(() => {
        requests += 1;
        return "pass";
      }),
    );
    const { usage } = await first.capability.observe([first.question], buildCall());
    expect(Object.values(usage.calls).reduce((sum, count) => sum + count, 0)).toBe(requests);
    expect(usage.throttled).toBe(0);
    await first.cloud.close();
    const second = await asked();
    stage().world.setGate(gateThat(() => "Throttled"));
    const refused = await second.capability.observe([second.question], buildCall());
    expect(refused.answers).toMatchObject([{ kind: "error", code: "Throttled" }]);
    expect(refused.usage.throttled).toBeGreaterThan(0);
    await second.cloud.close();
  });

  optional("orphans", "lists what it holds for all Services of the cluster", async () => {
    const holdings = async () => {
      const { cloud, capability } = await asked();
      const [answer] = (await capability.observe([{ holdings: true }], buildCall())).answers;
      await cloud.close();
      return HoldingsState.parse(answer?.kind === "observed" ? answer.state : answer).holdings;
    };
    const before = await holdings();
    await made();
    const [added, ...others] = (await holdings()).filter(({ id }) => before.every((each) => each.id !== id));
    expect(added).toBeDefined();
    expect(new Set([added, ...others].map((each) => each?.service))).toContain("default/web");
  });
}
