"""Makes heating.csv: simulated yearly heating demand of houses.

The demand follows the usual balance (losses through walls, roof and windows times the heating degree hours, less the
gains of the sun through the windows, divided by the boiler's efficiency), with noise and some missing values. The
table is simulated, not measured: it shows the recipe tabular.lua numeric and categorical columns with gaps.

    python3 make_heating.py > heating.csv
"""

import csv
import random
import sys

U_WALL = {"none": 1.4, "partial": 0.6, "full": 0.2}  # W/(m² K)
SUN = {"north": 120, "east": 240, "south": 420, "west": 250}  # kWh per m² of window and heating season
EFFICIENCY = {"boiler": 0.85, "district": 0.97, "heat pump": 3.1}


def house(rng):
    area = round(rng.uniform(45, 260), 1)
    height = round(rng.gauss(2.6, 0.2), 2)
    glazing = round(rng.uniform(0.08, 0.35), 3)
    orientation = rng.choice(list(SUN))
    insulation = rng.choices(list(U_WALL), weights=[3, 4, 3])[0]
    heater = rng.choices(list(EFFICIENCY), weights=[6, 2, 2])[0]
    indoor = round(rng.gauss(20.5, 1.2), 1)
    side = area**0.5
    wall = 4 * side * height
    window = wall * glazing
    losses = (
        (wall - window) * U_WALL[insulation]
        + area * U_WALL[insulation] * 0.8
        + window * 1.6
        + 0.34 * 0.5 * area * height
    )
    demand = losses * (indoor - 7.5) * 5200 / 1000  # kWh
    demand -= 0.5 * window * SUN[orientation]
    demand = max(demand, 400) / EFFICIENCY[heater] * rng.lognormvariate(0, 0.05)
    return [area, height, glazing, orientation, insulation, heater, indoor, round(demand / 1000, 3)]


def main():
    rng = random.Random(20)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("area_m2 ceiling_m glazing_share orientation insulation heater indoor_c heat_mwh".split())
    for _ in range(2000):
        row = house(rng)
        for column in (1, 2, 4, 6):
            if rng.random() < 0.03:
                row[column] = ""
        out.writerow(row)


main()
