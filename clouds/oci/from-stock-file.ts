/**
 * The stock controller's `cloud-provider.yaml` as a cluster's `cloud:` says it. A key or passphrase that stands in the file itself
 * stays there: what is handed on names the file. Spellings that the stock controller has given up are put in its newer ones.
 * What stands there both ways stays, and is a fault.
 */
export function fromStockFile(
  document: Readonly<Record<string, unknown>>,
  file: string,
): Readonly<Record<string, unknown>> {
  const { auth, loadBalancer, ...others } = withoutEmpty(document);
  const whole: Record<string, unknown> = { ...others };
  if (isMapping(auth)) {
    const kept: Record<string, unknown> = withoutEmpty(auth);
    for (const key of ["compartment", "useInstancePrincipals", "regionKey"]) move(kept, key, whole, key);
    if (move(kept, "key", kept, "keyFile")) kept["keyFile"] = file;
    for (const key of ["passphrase", "key_passphrase"])
      if (move(kept, key, kept, "passphraseFile")) kept["passphraseFile"] = file;
    whole["auth"] = kept;
  } else if (auth !== undefined) whole["auth"] = auth;
  if (isMapping(loadBalancer)) {
    const kept: Record<string, unknown> = withoutEmpty(loadBalancer);
    if (typeof kept["disableSecurityListManagement"] === "boolean") {
      if (kept["disableSecurityListManagement"]) kept["securityListManagementMode"] ??= "None";
      delete kept["disableSecurityListManagement"];
    }
    whole["loadBalancer"] = kept;
  } else if (loadBalancer !== undefined) whole["loadBalancer"] = loadBalancer;
  return whole;
}

function move(
  from: Record<string, unknown>,
  key: string,
  to: Record<string, unknown>,
  newKey: string,
): boolean {
  if (from[key] === undefined || to[newKey] !== undefined) return false;
  to[newKey] = from[key];
  delete from[key];
  return true;
}

/** Without keys that have no value: the stock controller takes them for absent. */
function withoutEmpty(mapping: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(mapping).filter(([, value]) => value !== null && value !== ""));
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
