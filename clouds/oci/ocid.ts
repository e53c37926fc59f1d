/** Whether a text is the OCID of a resource of one of these types: nothing else may become part of a path. */
export function isOcid(text: string, ...types: readonly string[]): boolean {
  const type = /^ocid1\.([a-z]+)\.[a-z0-9]+\.[A-Za-z0-9-]*\.[A-Za-z0-9._-]+$/.exec(text)?.[1];
  return type !== undefined && types.includes(type) && text.length <= MAX_LENGTH;
}

/** The realm that an OCID names, such as `oc1`. */
export function realmOf(ocid: string): string {
  return ocid.split(".")[2] ?? "";
}

/** Oracle's own limit. */
const MAX_LENGTH = 255;
