import type { Instance } from "#core/instance.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";
import { ask } from "#test/ask.ts";

/** The field manager of the stock controller of AWS. */
export const STOCK = "aws-cloud-controller-manager";

/** How a write differs from the stock controller's. */
export interface Quirks {
  /** The writer; defaults to the stock controller. */
  readonly manager?: string;
  readonly zone?: string;
  /** Removes the taint and never writes addresses. */
  readonly withoutAddresses?: boolean;
}

/** The fields of an instance that the stock controller needs. */
export type StockInstance = Pick<Instance, "providerID" | "type" | "zone" | "region" | "addresses">;

/** Returns an instance of the memory cloud by its number. */
export function getInstance(number: number): Instance {
  return {
    id: `i-node-${number}`,
    account: "1",
    network: "network-1",
    state: "running",
    providerID: `memory:///zone-a/i-node-${number}`,
    type: "small",
    zone: "zone-a",
    region: "region-a",
    addresses: [{ type: "InternalIP", address: `10.0.0.${number}` }],
    labels: {},
  };
}

/** Registers the node of an instance, as its kubelet does. */
export async function register(admin: Transport, number: number): Promise<string> {
  const name = `node-${number}`;
  const body = buildJoiningNode({ name, providerID: getInstance(number).providerID });
  await ask(admin, { method: "POST", path: "/api/v1/nodes?fieldManager=kubelet", body });
  return name;
}

/**
 * Initializes a node as the stock controller does: first it updates the whole node with labels and without
 * the taint, then it replaces the addresses by a strategic merge patch.
 */
export async function initializeAsStock(
  admin: Transport,
  name: string,
  instance: StockInstance,
  quirks: Quirks = {},
): Promise<void> {
  const manager = `fieldManager=${quirks.manager ?? STOCK}`;
  const node = JSON.parse((await ask(admin, { method: "GET", path: `/api/v1/nodes/${name}` })).body);
  const zone = quirks.zone ?? instance.zone;
  const values = {
    "beta.kubernetes.io/instance-type": instance.type,
    "node.kubernetes.io/instance-type": instance.type,
    "failure-domain.beta.kubernetes.io/zone": zone,
    "topology.kubernetes.io/zone": zone,
    "failure-domain.beta.kubernetes.io/region": instance.region,
    "topology.kubernetes.io/region": instance.region,
  };
  const { taints: _, ...spec } = node.spec;
  const metadata = { ...node.metadata, labels: { ...node.metadata.labels, ...values } };
  const whole = { ...node, metadata, spec: { ...spec, providerID: instance.providerID } };
  await ask(admin, { method: "PUT", path: `/api/v1/nodes/${name}?${manager}`, body: whole });
  if (quirks.withoutAddresses) return;
  const hostnames = node.status.addresses.filter(({ type }: { type: string }) => type === "Hostname");
  await ask(admin, {
    method: "PATCH",
    path: `/api/v1/nodes/${name}/status?${manager}`,
    contentType: "application/strategic-merge-patch+json",
    body: { status: { addresses: [...instance.addresses, ...hostnames, { $patch: "replace" }] } },
  });
}
