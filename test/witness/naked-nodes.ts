import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { AuditRecord } from "#emulators/harness/audit-log.ts";
import type { KubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { Transport } from "#kube/client/transport.ts";

/** Records writes that leave a node without both taint and address, as the API server itself sees them. */
export interface NakedNodeWitness {
  /** Returns every such write so far, of any user; the API server rejected it. */
  writes(): Promise<readonly AuditRecord[]>;
}

/** Installs the witness and resolves when the API server enforces it. */
export async function witnessNakedNodes(plane: KubeApiserver, admin: Transport): Promise<NakedNodeWitness> {
  await plane.apply(POLICY_FILE);
  const deadline = performance.now() + ACTIVE_TIMEOUT_MS;
  while (!(await refusesProbe(admin))) {
    if (performance.now() > deadline)
      throw new Error(`${POLICY} is not obeyed: the API server refuses nothing`);
    await sleep(100);
  }
  return {
    writes: async () => {
      const log = await plane.auditLog();
      return log.filter(({ name, message }) => message?.includes(POLICY) && !name?.startsWith(PROBE));
    },
  };
}

const POLICY_FILE = fileURLToPath(new URL("naked-nodes.yaml", import.meta.url));
const POLICY = "witness-naked-nodes";
const PROBE = "witness-probe-";
const ACTIVE_TIMEOUT_MS = 30_000;

/** Creates a naked node without persisting it. */
async function refusesProbe(admin: Transport): Promise<boolean> {
  const body = { apiVersion: "v1", kind: "Node", metadata: { name: `${PROBE}${randomUUID()}` } };
  const answer = await admin.send({ method: "POST", path: "/api/v1/nodes?dryRun=All", body });
  if (answer.status !== 201 && !answer.body.includes(POLICY))
    throw new Error(`the probe was answered ${answer.status}: ${answer.body}`);
  return answer.status !== 201;
}
