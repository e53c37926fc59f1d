/** The deployed name of another function of the same deployment, by one's own: what stands before the function's name is the same. */
export function nameOfSibling(deployedName: string, ownName: string, functionName: string): string {
  return deployedName.endsWith(ownName)
    ? `${deployedName.slice(0, -ownName.length)}${functionName}`
    : functionName;
}
