/**
 * Converts the stock controller's `cloud-provider.yaml` to the form of a cluster's `cloud:`. A key or
 * passphrase in the file stays there, and the result names the file. Deprecated spellings become the newer
 * ones. A setting present in both spellings stays twice and is a fault.
 */
export function convertStockFile(
  document: Readonly<Record<string, unknown>>,
  file: string,
): Readonly<Record<string, unknown>> {
  const { auth, loadBalancer, ...others } = removeEmpty(document);
  const result: Record<string, unknown> = { ...others };
  if (isMapping(auth)) {
    const converted: Record<string, unknown> = removeEmpty(auth);
    for (const key of ["compartment", "useInstancePrincipals", "regionKey"])
      moveKey(converted, key, result, key);
    if (moveKey(converted, "key", converted, "keyFile")) converted["keyFile"] = file;
    for (const key of ["passphrase", "key_passphrase"])
      if (moveKey(converted, key, converted, "passphraseFile")) converted["passphraseFile"] = file;
    result["auth"] = converted;
  } else if (auth !== undefined) result["auth"] = auth;
  if (isMapping(loadBalancer)) {
    const converted: Record<string, unknown> = removeEmpty(loadBalancer);
    if (typeof converted["disableSecurityListManagement"] === "boolean") {
      if (converted["disableSecurityListManagement"]) converted["securityListManagementMode"] ??= "None";
      delete converted["disableSecurityListManagement"];
    }
    result["loadBalancer"] = converted;
  } else if (loadBalancer !== undefined) result["loadBalancer"] = loadBalancer;
  return result;
}

function moveKey(
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

/** Removes keys without a value, which the stock controller treats as absent. */
function removeEmpty(mapping: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(mapping).filter(([, value]) => value !== null && value !== ""));
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
