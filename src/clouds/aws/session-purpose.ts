import { DESCRIPTORS } from "#core/descriptors.ts";

/**
 * The purpose of a session: a part of the cloud that one deployed function contains (`cloudParts` of its
 * controller), another function, or `doctor`, which changes nothing.
 */
export const SESSION_PURPOSES = [
  "node",
  "node-lifecycle",
  "csr",
  "load-balancers",
  "routes",
  "tags",
  "ec2-events",
  "doctor",
] as const;
export type SessionPurpose = (typeof SESSION_PURPOSES)[number];

/** Returns the name of the deployed function whose sessions have a purpose; `doctor` stands for itself. */
export function getFunctionName(purpose: SessionPurpose): string {
  return DESCRIPTORS.find(({ cloudParts }) => cloudParts?.includes(purpose))?.functionName ?? purpose;
}

/** Returns the purpose of a deployed function's sessions, or the default if one process runs all controllers. */
export function selectPurpose(
  functionName: string | undefined,
  defaultPurpose: SessionPurpose,
): SessionPurpose {
  return SESSION_PURPOSES.find((purpose) => getFunctionName(purpose) === functionName) ?? defaultPurpose;
}
