import * as z from "zod";
import type { CertificateRequest, CertificateSigningRequest } from "#core/csr/csr.ts";
import type { Instance } from "#core/instance.ts";
import type { ObjectReference } from "#core/reason.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Text that already belongs to the tenant: from its objects, from its API server's answers, or the ID of an
 * instance that was checked to be its own. In a cluster, people read only fixed sentences and these texts.
 * Only this file creates them: a cloud's message is a `string`, which the type does not accept.
 */
export const TenantFact = z.string().brand<"TenantFact">();
export type TenantFact = z.output<typeof TenantFact>;

/** The part of a Service's issue about one of its fields. */
interface IssueFields {
  readonly field?: string | undefined;
  readonly value?: string | undefined;
  readonly allowed?: string | undefined;
}

/** Returns the name of an object of the cluster. */
export function getNameFact({ metadata }: { readonly metadata: { readonly name: string } }): TenantFact {
  return toTenantFact(metadata.name);
}

/** Returns the kind of an object of the cluster. */
export function getKindFact({ kind }: ObjectReference): TenantFact {
  return toTenantFact(kind);
}

/** Returns the field manager that keeps reverting our work, as named in the object's `managedFields`. */
export function getManagerFact(
  hint: { readonly undoneBy?: string | undefined } | undefined,
): TenantFact | undefined {
  return hint?.undoneBy === undefined ? undefined : toTenantFact(hint.undoneBy);
}

/** Returns the names and addresses in a certificate request. */
export function listRequestedNameFacts({ dnsNames, ipAddresses }: CertificateRequest): {
  readonly dnsNames: readonly TenantFact[];
  readonly ipAddresses: readonly TenantFact[];
} {
  return { dnsNames: dnsNames.map(toTenantFact), ipAddresses: ipAddresses.map(toTenantFact) };
}

/** Returns the usages in a certificate request, without duplicates. */
export function listUsageFacts({ spec }: Pick<CertificateSigningRequest, "spec">): readonly TenantFact[] {
  return [...new Set(spec.usages)].sort().map(toTenantFact);
}

/** Returns the ID of the node's own instance: a found instance was checked to be the cluster's. */
export function getInstanceIdFact({ id }: Instance): TenantFact {
  return toTenantFact(id);
}

/** Returns the instance that a node of the cluster names. */
export function getProviderIDFact({
  spec,
}: {
  readonly spec: { readonly providerID?: string | undefined };
}): TenantFact {
  return toTenantFact(spec.providerID ?? "");
}

/**
 * Returns the ID of the replacement instance with a node's name: like a found instance, it was checked to be
 * the cluster's.
 */
export function getReplacementFact({
  takenOverBy,
}: {
  readonly takenOverBy?: string | undefined;
}): TenantFact | undefined {
  return takenOverBy === undefined ? undefined : toTenantFact(takenOverBy);
}

/** Returns the pod networks that a node of the cluster reports. */
export function listPodCIDRFacts({
  podCIDRs = [],
}: {
  readonly podCIDRs?: readonly string[] | undefined;
}): readonly TenantFact[] {
  return podCIDRs.map(toTenantFact);
}

/** Returns the number of the given nodes of the cluster. */
export function countNodesFact(nodes: readonly object[]): TenantFact {
  return toTenantFact(String(nodes.length));
}

/** Returns the message with which the tenant's own API server rejected an update. */
export function getServerMessageFact(refusal: {
  readonly kind: "rejected";
  readonly message: string;
}): TenantFact {
  return toTenantFact(refusal.message);
}

/**
 * Returns the name of a field or annotation in an issue of a Service; empty if it does not have the form of
 * one.
 */
export function getFieldFact({ field = "" }: IssueFields): TenantFact {
  return toTenantFact(FIELD.test(field) ? field : "");
}

/** A field of a Service, or the name of an annotation with the domain of its controller. */
const FIELD = /^(?:(?:spec|metadata)(?:\.[A-Za-z]+(?:\[\d+\])?)+|(?:[a-z0-9-]+\.)+[a-z]+\/[\w.-]+)$/;

/** Returns the value of a field if the Service really contains it; undefined otherwise. */
export function getValueFact({ value }: IssueFields, { metadata, spec }: Service): TenantFact | undefined {
  if (value === undefined) return undefined;
  const contents = JSON.stringify([metadata.annotations, spec]);
  return contents.includes(JSON.stringify(value).slice(1, -1)) ? toTenantFact(value) : undefined;
}

/**
 * Returns the allowed values of a field, which are equal for all tenants. The catalogue has a placeholder for
 * them only if no part comes from the cloud.
 */
export function getAllowedFact({ allowed = "" }: IssueFields): TenantFact {
  return toTenantFact(allowed);
}

function toTenantFact(text: string): TenantFact {
  return text as TenantFact;
}
