import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import type { Node } from "#core/node/node.ts";
import { CONTROLLER_NAMES } from "#functions/parts/controllers.ts";
import type { Running } from "#test/cli/program.ts";
import { CSRS } from "#test/csr/approver-under-test.ts";
import { checkNode, getNodeIP, listExpectedAddresses } from "#test/interop/expected-node.ts";
import { askKubelet } from "#test/interop/kubelet-server.ts";
import type { NeighbourKubelet } from "#test/interop/neighbour-kubelet.ts";
import {
  type Neighbourhood,
  readLogEnd,
  readPrograms,
  STARTUP_TAINT,
  startNeighbourhood,
} from "#test/interop/neighbourhood.ts";
import { type NetworkAgent, startNetworkAgent } from "#test/interop/network-agent.ts";
import { countWritesByNode, TWO_WRITES } from "#test/witness/requests.ts";

const NODES = 20;
/** Counted from the start of the first kubelet. */
const QUIET_UNTIL_MS = 90_000;
const POLL_MS = 250;
const LIFECYCLE = "cloud-node-lifecycle-controller";

/** Each test continues from the state that the previous one leaves. */
describe("together with the real kube-controller-manager and kubelets", () => {
  let folder: string;
  let neighbours: Neighbourhood;
  let agent: NetworkAgent;
  let ccm: Running;
  let startedAt = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "neighbourhood-"));
    neighbours = await startNeighbourhood(readPrograms(), folder);
    agent = startNetworkAgent(neighbours.history, neighbours.admin, STARTUP_TAINT.key);
    ccm = await start();
  });
  afterAll(async () => {
    await agent?.stop();
    await neighbours?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  async function start(): Promise<Running> {
    const running = await neighbours.run();
    await running.line("Serving");
    return running;
  }

  function latest(name: string): Node | undefined {
    const records = [...neighbours.history.records.values()].filter((record) => record.name === name);
    return records.findLast(({ deleted }) => !deleted)?.latest;
  }

  const faults = (kubelets: Iterable<NeighbourKubelet> = neighbours.kubelets.values()): readonly string[] =>
    [...kubelets].flatMap((kubelet) => checkNode(latest(kubelet.name), kubelet));

  /** Waits until there are no problems, and fails with the remaining ones. */
  async function untilNone(wrong: () => readonly string[] | Promise<readonly string[]>, timeoutMs = 120_000) {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const found = await wrong();
      if (found.length === 0 || performance.now() > deadline) return expect(found).toEqual([]);
      await sleep(POLL_MS);
    }
  }

  /** Returns our successful writes, by node. */
  async function carriedOut(): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>> {
    const writes = countWritesByNode(await neighbours.plane.record());
    return new Map(
      [...writes].map(([name, counts]) => [
        name,
        Object.fromEntries(Object.entries(counts).filter(([key]) => key.endsWith(" 200"))),
      ]),
    );
  }

  const everyNode = (counts: Readonly<Record<string, number>>) =>
    new Map([...neighbours.kubelets.keys()].map((name) => [name, counts]));

  test(`${NODES} kubelets join, each told its addresses in another way, while a network agent takes its taint off`, async () => {
    startedAt = performance.now();
    const numbers = Array.from({ length: NODES }, (_, index) => index + 1);
    await Promise.all(numbers.map((n) => neighbours.join(n, getNodeIP(n))));
    await untilNone(faults).catch(async (error) => {
      const [kubelet] = neighbours.kubelets.values();
      throw new Error(`${error}\n${kubelet === undefined ? "" : await readLogEnd(kubelet.logFile)}`);
    });
    expect(await carriedOut()).toEqual(everyNode(TWO_WRITES));
  });

  test("every kubelet serves with a certificate that we approved and kube-controller-manager signed", async () => {
    const token = (await readFile(neighbours.plane.tokenFile("admin"), "utf8")).trim();
    const { certificate: certificateAuthority } = neighbours.authority;
    const wrongWith = async (kubelet: NeighbourKubelet): Promise<readonly string[]> => {
      const { name, nodeIP, ipv4, ipv6 } = kubelet;
      const address = nodeIP === ipv6 ? ipv6 : ipv4;
      try {
        const answers = [
          await askKubelet({ address, certificateAuthority, token }),
          await askKubelet({ address, certificateAuthority, token, name }),
          await askKubelet({ address, certificateAuthority }),
        ];
        const said = answers.map(({ status }) => status).join();
        const named = (answers[0]?.names ?? "").split(", ").map(nameIn).sort().join();
        const owned = [...new Set(listExpectedAddresses(kubelet).map((each) => each.split(" ")[1] ?? ""))];
        return [
          ...(said === "200,200,401" ? [] : [`${name} answers ${said}`]),
          ...(named === owned.sort().join() ? [] : [`${name} serves as ${named}`]),
        ];
      } catch (error) {
        return [`${name}: ${error}`];
      }
    };
    const wrong = async (kubelets: readonly NeighbourKubelet[]): Promise<readonly string[]> =>
      (await Promise.all(kubelets.map(wrongWith))).flat();
    const [guessing, told] = partition([...neighbours.kubelets.values()], ({ nodeIP }) => nodeIP === "::");
    await untilNone(() => wrong(told));
    // Before our addresses are written, a kubelet with --node-ip=:: may request its guessed address, which no
    // approver accepts. It then waits 15 minutes for that answer, even with correct addresses, unless it
    // restarts.
    for (const kubelet of guessing) {
      if ((await wrong([kubelet])).length === 0) continue;
      await kubelet.kill();
      kubelet.start();
    }
    await untilNone(() => wrong(guessing));
    const decided = await decisions();
    const ours = decided.filter(({ signer }) => signer === KUBELET_SERVING_SIGNER);
    expect(new Set(ours.map(({ said }) => said))).toEqual(new Set(["Approved InstanceVerified"]));
    // A kubelet with a --node-ip address first requests only that one, and later all addresses that the cloud
    // knows.
    expect(new Set(ours.map(({ username }) => username)).size).toBe(NODES);
    // kube-controller-manager decides the client certificates itself.
    const others = decided.filter(({ signer }) => signer !== KUBELET_SERVING_SIGNER);
    expect(new Set(others.map(({ signer, said }) => `${signer} ${said}`))).toEqual(
      new Set(["kubernetes.io/kube-apiserver-client-kubelet Approved AutoApproved"]),
    );
    expect(others).toHaveLength(NODES);
  });

  test(`after ${QUIET_UNTIL_MS / 1000} s nothing has been written twice, and nothing undone`, async () => {
    await sleep(Math.max(0, startedAt + QUIET_UNTIL_MS - performance.now()));
    expect(faults()).toEqual([]);
    expect(await carriedOut()).toEqual(everyNode(TWO_WRITES));
    await expectNoFlaw();
  });

  test("a kill -9 of our process affects no node, and nodes that join meanwhile come up afterwards", async () => {
    await ccm.end("SIGKILL");
    const late = await neighbours.join(NODES + 1, getNodeIP(NODES + 1));
    await untilNone(() => (latest(late.name) === undefined ? ["it has not registered"] : []));
    ccm = await start();
    await untilNone(faults);
    expect(await carriedOut()).toEqual(everyNode(TWO_WRITES));
  });

  test("kube-controller-manager handles a kill -9 of a kubelet, and its return needs nothing from us", async () => {
    const kubelets = [...neighbours.kubelets.values()].slice(0, 2);
    const uids = kubelets.map(({ name }) => latest(name)?.metadata.uid);
    await Promise.all(kubelets.map((kubelet) => kubelet.kill()));
    await untilNone(() =>
      kubelets.flatMap(({ name }) => {
        const taints = latest(name)?.spec.taints?.map(({ key, effect }) => `${key}:${effect}`) ?? [];
        return taints.includes("node.kubernetes.io/unreachable:NoExecute") ? [] : [`${name} has ${taints}`];
      }),
    );
    for (const kubelet of kubelets) kubelet.start();
    await untilNone(faults);
    expect(kubelets.map(({ name }) => latest(name)?.metadata.uid)).toEqual(uids);
    expect(await carriedOut()).toEqual(everyNode(TWO_WRITES));
  });

  test("a Node deleted under its kubelet stays away until the kubelet starts again, and comes up as a new one", async () => {
    const kubelet = [...neighbours.kubelets.values()][2];
    if (kubelet === undefined) throw new Error("there is no third kubelet");
    const before = latest(kubelet.name)?.metadata.uid;
    await neighbours.ask({ method: "DELETE", path: `/api/v1/nodes/${kubelet.name}` });
    // Two of its checks of its own Node, ten seconds apart, and their result.
    await untilNone(async () => {
      const misses = (await readFile(kubelet.logFile, "utf8")).match(
        /Unable to update node status|node "[^"]+" not found|nodes "[^"]+" not found/g,
      );
      return (misses?.length ?? 0) >= 2 ? [] : ["the kubelet has not missed its Node twice"];
    });
    await sleep(15_000);
    expect({ node: latest(kubelet.name), exited: kubelet.process().hasExited() }).toEqual({
      node: undefined,
      exited: false,
    });
    expect((await carriedOut()).get(kubelet.name)).toEqual(TWO_WRITES);
    await kubelet.kill();
    kubelet.start();
    await untilNone(faults);
    expect(latest(kubelet.name)?.metadata.uid).not.toBe(before);
    expect((await carriedOut()).get(kubelet.name)).toEqual({ "nodes/status 200": 2, "nodes 200": 2 });
    await expectNoFlaw();
  });

  test.skipIf(!CONTROLLER_NAMES.includes(LIFECYCLE))(
    "a stopped machine is tainted and a terminated one loses its Node, in addition to kube-controller-manager's own taints",
    async () => {
      const [stopped, terminated, ...others] = [...neighbours.kubelets.values()];
      if (stopped === undefined || terminated === undefined) throw new Error("there are no two kubelets");
      neighbours.ec2.setState(stopped.instance.id, "stopped");
      neighbours.ec2.terminate(terminated.instance.id);
      await Promise.all([stopped.kill(), terminated.kill()]);
      await untilNone(() => {
        const taints = (latest(stopped.name)?.spec.taints ?? []).map(({ key }) => key);
        const wanted = ["node.cloudprovider.kubernetes.io/shutdown", "node.kubernetes.io/unreachable"];
        return [
          ...wanted.filter((key) => !taints.includes(key)).map((key) => `${stopped.name} lacks ${key}`),
          ...(latest(terminated.name) === undefined ? [] : [`${terminated.name} is still there`]),
        ];
      });
      neighbours.ec2.setState(stopped.instance.id, "running");
      stopped.start();
      await untilNone(() => faults([stopped, ...others]));
      await expectNoFlaw();
    },
  );

  /** Returns the decided requests: signer, requester and decision. */
  async function decisions(): Promise<readonly Record<"signer" | "username" | "said", string>[]> {
    const { items } = (await neighbours.ask({ method: "GET", path: CSRS })) as {
      items: readonly DecidedRequest[];
    };
    return items.flatMap(({ spec: { signerName: signer, username }, status }) =>
      (status?.conditions ?? []).map(({ type, reason }) => ({ signer, username, said: `${type} ${reason}` })),
    );
  }

  /** Checks every version and every write so far, as the API server recorded them. */
  async function expectNoFlaw(): Promise<void> {
    const { history, naked } = neighbours;
    const records = [...history.records.values()];
    expect({
      hole: history.hole,
      naked: records.filter((record) => record.naked).map(({ name }) => name),
      nakedWrites: (await naked.writes()).map(({ user, name }) => `${user} ${name}`),
      rewritten: records.flatMap(({ name, written }) =>
        Object.entries(written).flatMap(([key, values]) => (values.size > 1 ? [`${name} ${key}`] : [])),
      ),
    }).toEqual({ hole: undefined, naked: [], nakedWrites: [], rewritten: [] });
  }
});

function partition<Value>(values: readonly Value[], holds: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter(holds), values.filter((value) => !holds(value))];
}

interface DecidedRequest {
  readonly spec: { readonly signerName: string; readonly username: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly reason: string }[] };
}

/** Returns `fd77::3` for `IP Address:FD77:0:0:0:0:0:0:3`, and the name for `DNS:…`. */
function nameIn(entry: string): string {
  const at = entry.indexOf(":");
  const value = entry.slice(at + 1);
  return entry.startsWith("IP") && value.includes(":")
    ? new URL(`http://[${value}]`).hostname.slice(1, -1)
    : value;
}
