/** Whether a text is the OCID of a resource of one of these types; nothing else may become part of a path. */
export function isOcid(text: string, ...types: readonly string[]): boolean {
  const type = /^ocid1\.([a-z]+)\.[a-z0-9]+\.[A-Za-z0-9-]*\.[A-Za-z0-9._-]+$/.exec(text)?.[1];
  return type !== undefined && types.includes(type) && text.length <= MAX_LENGTH;
}

/** Returns the realm in an OCID, such as `oc1`. */
export function getRealm(ocid: string): string {
  return ocid.split(".")[2] ?? "";
}

/** Oracle's maximum. */
const MAX_LENGTH = 255;
