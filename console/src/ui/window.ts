// The part of a long list that is kept. Held true: however long the list is, the items of at most `PAGES_KEPT` pages are in memory; of the others only their place and
// the marker to fetch them by.

export const PAGES_KEPT = 20;

/** A list of which some rows may not be at hand. An array is one, too. */
export interface Lines<Row> {
  readonly length: number;
  slice(from: number, to: number): (Row | undefined)[];
}

interface Kept<Item> {
  /** By which it is fetched; empty for the first. */
  marker: string;
  /** The place of its first item. */
  from: number;
  count: number;
  items: readonly Item[] | undefined;
}

export class Window<Item> implements Lines<Item> {
  private constructor(private readonly pages: readonly Kept<Item>[]) {}

  static empty = <Item>(): Window<Item> => new Window<Item>([]);

  get length(): number {
    const last = this.pages.at(-1);
    return last ? last.from + last.count : 0;
  }

  /** How many items are in memory. */
  get held(): number {
    return this.pages.reduce((sum, page) => sum + (page.items?.length ?? 0), 0);
  }

  /** With the next page behind the others. */
  add(marker: string, items: readonly Item[]): Window<Item> {
    return new Window([...this.pages, { marker, from: this.length, count: items.length, items }]);
  }

  /** With a page that was forgotten. It may have grown or shrunk meanwhile: then those behind it move. */
  refill(marker: string, items: readonly Item[]): Window<Item> {
    let from = 0;
    return new Window(
      this.pages.map((page) => {
        const kept = page.marker === marker ? { ...page, items, count: items.length } : page;
        const placed = kept.from === from ? kept : { ...kept, from };
        from += kept.count;
        return placed;
      }),
    );
  }

  /** Without what is far from the rows that are in sight. */
  around(from: number, to: number): Window<Item> {
    const held = this.pages.filter((page) => page.items).length;
    if (held <= PAGES_KEPT) return this;
    const distance = (page: Kept<Item>) => Math.max(page.from - to, from - (page.from + page.count), 0);
    const near = [...this.pages].filter((page) => page.items).sort((one, other) => distance(one) - distance(other));
    const kept = new Set(near.slice(0, PAGES_KEPT));
    return new Window(this.pages.map((page) => (page.items && !kept.has(page) ? { ...page, items: undefined } : page)));
  }

  /** The markers of pages between two rows that have to be fetched again. */
  missing(from: number, to: number): string[] {
    return this.pages.filter((page) => !page.items && page.from < to && page.from + page.count > from).map((page) => page.marker);
  }

  slice(from: number, to: number): (Item | undefined)[] {
    const found: (Item | undefined)[] = [];
    for (const page of this.pages.slice(this.pageAt(from))) {
      if (page.from >= to) break;
      for (let at = Math.max(from, page.from); at < Math.min(to, page.from + page.count); at++) found.push(page.items?.[at - page.from]);
    }
    return found;
  }

  /** All that are in memory. */
  all(): Item[] {
    return this.pages.flatMap((page) => page.items ?? []);
  }

  /** Where an item is, among all of them; -1 if it is not in memory. */
  indexOf(is: (item: Item) => boolean): number {
    for (const page of this.pages) {
      const at = page.items?.findIndex(is) ?? -1;
      if (at >= 0) return page.from + at;
    }
    return -1;
  }

  private pageAt(row: number): number {
    let [low, high] = [0, this.pages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pages[middle]!.from + this.pages[middle]!.count > row) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
