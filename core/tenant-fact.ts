import * as z from "zod";
import type { CertificateRequest } from "#core/csr/certificate-request.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { ObjectReference } from "#core/decision.ts";
import type { ObjectHint } from "#core/event.ts";
import type { Instance } from "#core/instance.ts";
import type { RouteNode } from "#core/route/related-node.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Text that is the tenant's own already: of its objects, of its API server's answers, or the id of an instance that was checked to
 * be its own. Beside fixed sentences nothing else gets into what people read in a cluster, and it is made in this file alone: a
 * cloud's message is a `string`, and does not fit where this is asked for.
 */
export const TenantFact = z.string().brand<"TenantFact">();
export type TenantFact = z.output<typeof TenantFact>;

/** The name of an object of the cluster. */
export function nameOf({ metadata }: { readonly metadata: { readonly name: string } }): TenantFact {
  return own(metadata.name);
}

/** The kind of an object of the cluster. */
export function kindOf({ kind }: ObjectReference): TenantFact {
  return own(kind);
}

/** The field manager that keeps undoing our work, as the object's `managedFields` name it. */
export function managerOf(hint: ObjectHint | undefined): TenantFact | undefined {
  return hint?.undoneBy === undefined ? undefined : own(hint.undoneBy);
}

/** The names and addresses that a certificate request asks for. */
export function namesIn({ dnsNames, ipAddresses }: CertificateRequest): {
  readonly dnsNames: readonly TenantFact[];
  readonly ipAddresses: readonly TenantFact[];
} {
  return { dnsNames: dnsNames.map(own), ipAddresses: ipAddresses.map(own) };
}

/** The usages that a certificate request asks for, each once. */
export function usagesOf({ spec }: Pick<CertificateSigningRequest, "spec">): readonly TenantFact[] {
  return [...new Set(spec.usages)].sort().map(own);
}

/** The id of the node's own instance: what a cloud answers as found was checked to be the cluster's. */
export function instanceIdOf({ id }: Instance): TenantFact {
  return own(id);
}

/** What a node of the cluster names as its instance. */
export function providerIDOf({
  spec,
}: {
  readonly spec: { readonly providerID?: string | undefined };
}): TenantFact {
  return own(spec.providerID ?? "");
}

/** The id of the instance that has taken a node's name over: it was checked to be the cluster's, as what is found is. */
export function successorIn({
  takenOverBy,
}: {
  readonly takenOverBy?: string | undefined;
}): TenantFact | undefined {
  return takenOverBy === undefined ? undefined : own(takenOverBy);
}

/** The networks that a node of the cluster names as those of its pods. */
export function podCIDRsOf({
  podCIDRs = [],
}: {
  readonly podCIDRs?: readonly string[] | undefined;
}): readonly TenantFact[] {
  return podCIDRs.map(own);
}

/** How many nodes of the cluster something is true of. */
export function numberOf(nodes: readonly RouteNode[]): TenantFact {
  return own(String(nodes.length));
}

/** What the tenant's own API server said when it refused an update. */
export function wordsOfServer(refusal: { readonly kind: "rejected"; readonly message: string }): TenantFact {
  return own(refusal.message);
}

/** The name of a field or annotation, as problems of Services have it; what has not the form of one is left out. */
export function fieldIn({ field = "" }: Problem): TenantFact {
  return own(FIELD.test(field) ? field : "");
}

/** A field of a Service, or the name of an annotation for controllers of Kubernetes. */
const FIELD =
  /^(?:(?:spec|metadata)(?:\.[A-Za-z]+(?:\[\d+\])?)+|(?:[a-z0-9-]+\.)*(?:kubernetes\.io|serverless-ccm\.io|kube-vip\.io|k8s\.co|digitalocean\.com|oraclecloud\.com)\/[\w.-]+)$/;

/** What a Service says, as far as it does say so; whatever else was taken for its value is left out. */
export function valueIn({ value = "" }: Problem, { metadata, spec }: Service): TenantFact {
  const said = JSON.stringify([metadata.annotations, spec]);
  return own(said.includes(JSON.stringify(value).slice(1, -1)) ? value : "");
}

/** What a field may say, which is the same for all: the catalogue has room for it only where the cloud has no part in it. */
export function allowedIn({ allowed = "" }: Problem): TenantFact {
  return own(allowed);
}

function own(text: string): TenantFact {
  return text as TenantFact;
}
