// Light or dark: as the system has it, unless the reader chose. The choice is kept in the browser where that is allowed.
import { computed, effect, signal } from "@preact/signals";

export type ThemeChoice = "system" | "light" | "dark";

const KEY = "stepscope.theme";
const query = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
const systemIsDark = signal(query?.matches ?? false);
query?.addEventListener("change", (event) => (systemIsDark.value = event.matches));

function storedChoice(): ThemeChoice {
  try {
    const stored = localStorage.getItem(KEY);
    if (stored === "light" || stored === "dark") return stored;
  } catch {
    // No storage here: the system's theme.
  }
  return "system";
}

export const themeChoice = signal<ThemeChoice>(storedChoice());
export const theme = computed<"light" | "dark">(() =>
  themeChoice.value === "system" ? (systemIsDark.value ? "dark" : "light") : themeChoice.value,
);

export function chooseTheme(choice: ThemeChoice): void {
  themeChoice.value = choice;
  try {
    if (choice === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // It holds until the page is closed.
  }
}

if (typeof document !== "undefined") {
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
  });
}
