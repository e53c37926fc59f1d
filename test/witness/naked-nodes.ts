import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Transport } from "#kube/transport.ts";
import type { AuditRecord } from "#local/audit-log.ts";
import type { KubeApiserver } from "#local/kube-apiserver.ts";

/** What the API server itself noted about nodes without both taint and address. */
export interface NakedNodeWitness {
  /** Every write so far, of whomever, after which a node had neither. */
  writes(): Promise<readonly AuditRecord[]>;
}

/** Installs the witness and resolves once the API server obeys it. */
export async function witnessNakedNodes(plane: KubeApiserver, admin: Transport): Promise<NakedNodeWitness> {
  await plane.apply(POLICY_FILE);
  const deadline = performance.now() + ACTIVE_TIMEOUT_MS;
  while (!(await marksProbe(plane, admin))) {
    if (performance.now() > deadline)
      throw new Error(`${POLICY} is not obeyed: the API server marks nothing`);
    await sleep(100);
  }
  return {
    writes: async () => {
      const log = await plane.auditLog();
      return log.filter((record) => isMarked(record) && !record.name?.startsWith(PROBE));
    },
  };
}

const POLICY_FILE = fileURLToPath(new URL("naked-nodes.yaml", import.meta.url));
const POLICY = "witness-naked-nodes";
const PROBE = "witness-probe-";
const ACTIVE_TIMEOUT_MS = 30_000;

/** Creates a naked node without persisting it. */
async function marksProbe(plane: KubeApiserver, admin: Transport): Promise<boolean> {
  const name = `${PROBE}${randomUUID()}`;
  const body = { apiVersion: "v1", kind: "Node", metadata: { name } };
  const answer = await admin.send({ method: "POST", path: "/api/v1/nodes?dryRun=All", body });
  if (answer.status !== 201) throw new Error(`the probe was answered ${answer.status}: ${answer.body}`);
  const log = await plane.auditLog();
  return log.some((record) => record.name === name && isMarked(record));
}

/** The annotation is kube-apiserver's own, for failed validations with the action Audit. */
function isMarked({ annotations }: AuditRecord): boolean {
  const failures = annotations["validation.policy.admission.k8s.io/validation_failure"] ?? "[]";
  return (JSON.parse(failures) as { readonly policy: string }[]).some(({ policy }) => policy === POLICY);
}
