/** Returns the deployed name of another function in the same deployment, which has the same prefix. */
export function getSiblingName(deployedName: string, ownName: string, functionName: string): string {
  return deployedName.endsWith(ownName)
    ? `${deployedName.slice(0, -ownName.length)}${functionName}`
    : functionName;
}
