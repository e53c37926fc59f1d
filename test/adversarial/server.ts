import { readFile } from "node:fs/promises";
import { IDENTITIES, type Identity } from "#core/identities.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildJoiningNode, type JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { answerWith, formatStatusBody } from "#test/adversarial/answers.ts";
import type { HostileCall, HostileWorld, OngoingAttack } from "#test/adversarial/attack.ts";
import { ATTACKS, type AttackName } from "#test/adversarial/attacks.ts";
import { parseHostileCall } from "#test/adversarial/call.ts";
import { FIRST_HOSTILE_VERSION } from "#test/adversarial/hostile-nodes.ts";
import { listenHostile } from "#test/adversarial/listener.ts";
import { createPace } from "#test/adversarial/pace.ts";
import { ask } from "#test/ask.ts";

export interface HostileOptions {
  /** For all files of the control plane beneath. */
  readonly folder: string;
  /** Its maximum rate, over all connections. */
  readonly bytesPerSecond?: number;
  readonly machines?: HostileWorld["machines"];
  readonly others?: HostileWorld["others"];
}

/** An API server with a hostile owner: honest until an attack runs. Its admin is never attacked. */
export interface HostileServer {
  readonly plane: EmbeddedControlPlane;
  /** Ends the current attack, and begins this one; open watches end, and begin again with a list. */
  attack(name: AttackName): Promise<void>;
  /** Ends the current attack: it cuts answers in progress, and removes nodes that the attack registered. */
  rest(): Promise<void>;
  /** Returns the bytes sent so far. */
  sentBytes(): number;
  /** Returns the number of calls that the current or last attack has answered itself. */
  attackedCalls(): number;
  close(): Promise<void>;
}

/** The rate of a fast network. */
const BYTES_PER_SECOND = 50_000_000;

/** Starts the server at rest. */
export async function startHostileServer(options: HostileOptions): Promise<HostileServer> {
  const pace = createPace(options.bytesPerSecond ?? BYTES_PER_SECOND);
  const under = new Set<HostileCall>();
  const users = new Map<string, HostileCall["user"]>();
  let ongoing: OngoingAttack | undefined;
  let ending = new AbortController();
  let now: Date | undefined;
  let attackedCalls = 0;
  let listsAnew = false;

  function intercept(call: HostileCall): boolean {
    if (ongoing === undefined) return isOfTheAttack(call) && answerWith(call, EXPIRED, { ":status": 410 });
    if (listsAnew && call.kind === "watch" && call.user === "relay") {
      listsAnew = false;
      return answerWith(call, EXPIRED, { ":status": 410 });
    }
    if (ongoing.answer?.(call) !== true) return false;
    attackedCalls += 1;
    under.add(call);
    call.stream.once("close", () => under.delete(call));
    return true;
  }

  const plane = await startEmbeddedControlPlane({
    folder: options.folder,
    now: () => now ?? new Date(),
    listen: (port, certificate, handle) =>
      listenHostile(port, certificate, handle, {
        pace,
        intercept: (request, _answer, wire) => {
          const call = parseHostileCall(request, wire, users);
          return call !== undefined && intercept(call);
        },
      }),
  });
  for (const identity of IDENTITIES)
    users.set(await tokenOf(plane, identity), identity === "relay" ? "relay" : "functions");
  const admin = connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${await tokenOf(plane, "admin")}`,
  });

  async function rest(): Promise<void> {
    ongoing = undefined;
    now = undefined;
    plane.control.delayRequests(0);
    ending.abort();
    for (const { stream, wire } of under) {
      wire.setOneByteFrames(false);
      stream.close(CANCEL);
    }
    // A watch from a version that the attack made up would be silent for long.
    plane.control.endWatches();
    await joining;
    await removeAll(admin, "/api/v1/nodes", joined.splice(0));
    await removeAll(admin, CLAIMS, [...claimed]);
    claimed.clear();
  }

  const joined: string[] = [];
  let joining: Promise<void> = Promise.resolve();
  async function join(nodes: readonly JoiningNodeOptions[], signal: AbortSignal): Promise<void> {
    for (const node of nodes) {
      if (signal.aborted) return;
      joined.push(node.name);
      await register(admin, node);
    }
  }

  const claimed = new Set<string>();
  async function announce(providerIDs: readonly string[], signal: AbortSignal): Promise<void> {
    for (const [index, providerID] of providerIDs.entries()) {
      if (signal.aborted) return;
      const name = `forged-${index}`;
      if (!claimed.has(name)) await createClaim(admin, name);
      claimed.add(name);
      await setProviderID(admin, name, providerID);
    }
  }

  return {
    plane,
    rest,
    async attack(name) {
      await rest();
      ending = new AbortController();
      attackedCalls = 0;
      ongoing = ATTACKS[name]({
        signal: ending.signal,
        machines: options.machines ?? [],
        others: options.others ?? [],
        setNow: (value) => {
          now = value;
        },
        join: (nodes) => {
          joining = join(nodes, ending.signal);
          return joining;
        },
        announce: (providerIDs) => {
          joining = announce(providerIDs, ending.signal);
          return joining;
        },
      });
      // Every open watch begins again with a list, because attacks affect both.
      listsAnew = true;
      plane.control.endWatches();
      await ongoing.begin?.();
      plane.control.delayRequests(ongoing.delayMs ?? 0);
    },
    sentBytes: () => pace.spent(),
    attackedCalls: () => attackedCalls,
    async close() {
      ending.abort();
      // A request in progress passes: it must not fail because its connection closes.
      await joining;
      await admin.close();
      await plane.close();
    },
  };
}

/** RST_STREAM code CANCEL. */
const CANCEL = 8;

const EXPIRED = formatStatusBody(410, "Expired", "too old resource version");

/** Returns whether a watch continues from a version that the attack made up, or from an invalid one. */
function isOfTheAttack({ kind, url }: HostileCall): boolean {
  const version = url.searchParams.get("resourceVersion") ?? "";
  return kind === "watch" && !(Number(version) < FIRST_HOSTILE_VERSION);
}

async function tokenOf(plane: EmbeddedControlPlane, user: "admin" | Identity): Promise<string> {
  return (await readFile(plane.tokenFile(user), "utf8")).trim();
}

async function register(admin: Transport, node: JoiningNodeOptions): Promise<void> {
  const answer = await admin.send({ method: "POST", path: "/api/v1/nodes", body: buildJoiningNode(node) });
  if (answer.status !== 201 && answer.status !== 409)
    throw new Error(`registering ${node.name} answered ${answer.status}: ${answer.body}`);
}

const CLAIMS = "/apis/karpenter.sh/v1/nodeclaims";

async function createClaim(admin: Transport, name: string): Promise<void> {
  const claim = { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", metadata: { name } };
  await ask(admin, { method: "POST", path: CLAIMS, body: claim });
}

async function setProviderID(admin: Transport, name: string, providerID: string): Promise<void> {
  await ask(admin, {
    method: "PATCH",
    path: `${CLAIMS}/${name}/status`,
    contentType: "application/merge-patch+json",
    body: { status: { providerID } },
  });
}

async function removeAll(admin: Transport, path: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    await admin.send({ method: "DELETE", path: `${path}/${encodeURIComponent(name)}` });
}
